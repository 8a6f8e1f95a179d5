/**
 * The kernels of the job, one for each step. A body of one expression reads the same in WGSL and OpenCL C. In the kernels
 * over pairs, item `i` is the pair of airport `firstRow + i / columns` and airport `i % columns`.
 */
import { Kernel, KernelArgument } from "effect-gpu-pool"
import { haversine, preamble } from "./Trigonometry.ts"

const { ScalarArg, VectorArg } = KernelArgument

const input = { access: "read" } as const
const output = { access: "write" } as const
const onDevices = (body: string) => ({ wgsl: body, opencl: body })

/** Degrees to radians. */
export const toRadians = Kernel.make({
  name: "toRadians",
  args: [VectorArg("f32", "angleDegrees", input), VectorArg("f32", "angleRadians", output)],
  body: {
    ...onDevices("angleRadians[i] = 0.0174532925f * angleDegrees[i];"),
    host: (from, to, { angleDegrees, angleRadians }) => {
      for (let i = from; i < to; i++) angleRadians[i] = angleDegrees[i]! * (Math.PI / 180)
    }
  }
})

/** cos φ = 1 − 2 hav φ */
export const cosine = Kernel.make({
  name: "cosine",
  args: [VectorArg("f32", "angle", input), VectorArg("f32", "angleCosine", output)],
  preamble,
  body: {
    ...onDevices("angleCosine[i] = 1.0f - 2.0f * haversine(angle[i]);"),
    host: (from, to, { angle, angleCosine }) => {
      for (let i = from; i < to; i++) angleCosine[i] = 1 - 2 * haversine(angle[i]!)
    }
  }
})

/** hav(φ₁ − φ₂) */
export const latitudeTerm = Kernel.make({
  name: "latitudeTerm",
  args: [
    VectorArg("f32", "latitude", input),
    VectorArg("f32", "term", output),
    ScalarArg("u32", "firstRow"),
    ScalarArg("u32", "columns")
  ],
  preamble,
  body: {
    ...onDevices("term[i] = haversine(latitude[firstRow + i / columns] - latitude[i % columns]);"),
    host: (from, to, { columns, firstRow, latitude, term }) => {
      for (let i = from; i < to; i++) {
        const column = i % columns
        const row = firstRow + (i - column) / columns
        term[i] = haversine(latitude[row]! - latitude[column]!)
      }
    }
  }
})

/** cos φ₁ · cos φ₂ · hav(λ₁ − λ₂) */
export const longitudeTerm = Kernel.make({
  name: "longitudeTerm",
  args: [
    VectorArg("f32", "latitudeCosine", input),
    VectorArg("f32", "longitude", input),
    VectorArg("f32", "term", output),
    ScalarArg("u32", "firstRow"),
    ScalarArg("u32", "columns")
  ],
  preamble,
  body: {
    ...onDevices(
      "term[i] = latitudeCosine[firstRow + i / columns] * latitudeCosine[i % columns]" +
        " * haversine(longitude[firstRow + i / columns] - longitude[i % columns]);"
    ),
    host: (from, to, { columns, firstRow, latitudeCosine, longitude, term }) => {
      for (let i = from; i < to; i++) {
        const column = i % columns
        const row = firstRow + (i - column) / columns
        term[i] = latitudeCosine[row]! * latitudeCosine[column]! * haversine(longitude[row]! - longitude[column]!)
      }
    }
  }
})

/** The haversine of the angle between two airports: the sum of both terms. */
export const sumOfTerms = Kernel.make({
  name: "sumOfTerms",
  args: [VectorArg("f32", "first", input), VectorArg("f32", "second", input), VectorArg("f32", "total", output)],
  body: {
    ...onDevices("total[i] = first[i] + second[i];"),
    host: (from, to, { first, second, total }) => {
      for (let i = from; i < to; i++) total[i] = first[i]! + second[i]!
    }
  }
})

/** hav⁻¹ h = 2 asin √h; rounding may have pushed h just over 1. */
export const centralAngle = Kernel.make({
  name: "centralAngle",
  args: [VectorArg("f32", "angleHaversine", input), VectorArg("f32", "angle", output)],
  preamble,
  body: {
    ...onDevices("angle[i] = 2.0f * arcsine(sqrt(min(angleHaversine[i], 1.0f)));"),
    host: (from, to, { angle, angleHaversine }) => {
      for (let i = from; i < to; i++) angle[i] = 2 * Math.asin(Math.sqrt(Math.min(angleHaversine[i]!, 1)))
    }
  }
})

/** Radians to metres along the ground. */
export const arcLength = Kernel.make({
  name: "arcLength",
  args: [VectorArg("f32", "angle", input), VectorArg("f32", "meters", output), ScalarArg("f32", "radius")],
  body: {
    ...onDevices("meters[i] = radius * angle[i];"),
    host: (from, to, { angle, meters, radius }) => {
      for (let i = from; i < to; i++) meters[i] = radius * angle[i]!
    }
  }
})

/** Columns that one item of {@link reduceChunks} works through: short sums lose little in 32 bits. */
export const chunkSize = 64

/** What {@link reduceChunks} says of a chunk in which there is no other airport. */
const noneNearer = "3.4e38f"

/** The nearest airport and the sum of distances within one chunk of a row. Item `i` is chunk `i % chunks` of its row. */
export const reduceChunks = Kernel.make({
  name: "reduceChunks",
  args: [
    VectorArg("f32", "meters", input),
    VectorArg("u32", "chunkNearest", output),
    VectorArg("f32", "chunkMeters", output),
    VectorArg("f32", "chunkSum", output),
    ScalarArg("u32", "firstRow"),
    ScalarArg("u32", "columns"),
    ScalarArg("u32", "chunks")
  ],
  body: {
    wgsl: `
      let row = i / chunks;
      let first = (i % chunks) * ${chunkSize}u;
      let end = min(first + ${chunkSize}u, columns);
      var nearest = 0u;
      var least = ${noneNearer};
      var sum = 0.0f;
      for (var column = first; column < end; column++) {
        let candidate = meters[row * columns + column];
        sum += candidate;
        if (column != firstRow + row && candidate < least) {
          least = candidate;
          nearest = column;
        }
      }
      chunkNearest[i] = nearest;
      chunkMeters[i] = least;
      chunkSum[i] = sum;`,
    opencl: `
      const uint row = i / chunks;
      const uint first = (i % chunks) * ${chunkSize}u;
      const uint end = min(first + ${chunkSize}u, columns);
      uint nearest = 0u;
      float least = ${noneNearer};
      float sum = 0.0f;
      for (uint column = first; column < end; column++) {
        const float candidate = meters[row * columns + column];
        sum += candidate;
        if (column != firstRow + row && candidate < least) {
          least = candidate;
          nearest = column;
        }
      }
      chunkNearest[i] = nearest;
      chunkMeters[i] = least;
      chunkSum[i] = sum;`,
    host: (from, to, { chunkMeters, chunkNearest, chunkSum, chunks, columns, firstRow, meters }) => {
      for (let i = from; i < to; i++) {
        const chunk = i % chunks
        const row = (i - chunk) / chunks
        const end = Math.min((chunk + 1) * chunkSize, columns)
        let nearest = 0
        let least = Infinity
        let sum = 0
        for (let column = chunk * chunkSize; column < end; column++) {
          const candidate = meters[row * columns + column]!
          sum += candidate
          if (column !== firstRow + row && candidate < least) {
            least = candidate
            nearest = column
          }
        }
        chunkNearest[i] = nearest
        chunkMeters[i] = least
        chunkSum[i] = sum
      }
    }
  }
})

/** The nearest airport of a row, its distance, and the mean distance to all others. Item `i` is row `firstRow + i`. */
export const reduceRows = Kernel.make({
  name: "reduceRows",
  args: [
    VectorArg("u32", "chunkNearest", input),
    VectorArg("f32", "chunkMeters", input),
    VectorArg("f32", "chunkSum", input),
    VectorArg("u32", "nearest", output),
    VectorArg("f32", "nearestMeters", output),
    VectorArg("f32", "meanMeters", output),
    ScalarArg("u32", "firstRow"),
    ScalarArg("u32", "columns"),
    ScalarArg("u32", "chunks")
  ],
  body: {
    wgsl: `
      var best = i * chunks;
      var sum = 0.0f;
      for (var chunk = i * chunks; chunk < (i + 1u) * chunks; chunk++) {
        sum += chunkSum[chunk];
        if (chunkMeters[chunk] < chunkMeters[best]) { best = chunk; }
      }
      nearest[firstRow + i] = chunkNearest[best];
      nearestMeters[firstRow + i] = chunkMeters[best];
      meanMeters[firstRow + i] = sum / f32(columns - 1u);`,
    opencl: `
      uint best = i * chunks;
      float sum = 0.0f;
      for (uint chunk = i * chunks; chunk < (i + 1u) * chunks; chunk++) {
        sum += chunkSum[chunk];
        if (chunkMeters[chunk] < chunkMeters[best]) { best = chunk; }
      }
      nearest[firstRow + i] = chunkNearest[best];
      nearestMeters[firstRow + i] = chunkMeters[best];
      meanMeters[firstRow + i] = sum / (float)(columns - 1u);`,
    host: (from, to, args) => {
      const { chunkMeters, chunkNearest, chunkSum, chunks, columns, firstRow } = args
      for (let i = from; i < to; i++) {
        let best = i * chunks
        let sum = 0
        for (let chunk = i * chunks; chunk < (i + 1) * chunks; chunk++) {
          sum += chunkSum[chunk]!
          if (chunkMeters[chunk]! < chunkMeters[best]!) best = chunk
        }
        args.nearest[firstRow + i] = chunkNearest[best]!
        args.nearestMeters[firstRow + i] = chunkMeters[best]!
        args.meanMeters[firstRow + i] = sum / (columns - 1)
      }
    }
  }
})
