/** Sampling, against another definition: an endless image, and weights that fall off with the distance. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Rgba } from "../../src/domain/images/ImageElement.ts"
import { sample, type Texel } from "../../src/domain/images/ImageSampling.ts"
import type { ImageKind, ImageShape } from "../../src/domain/images/ImageShape.ts"
import type { Sampler } from "../../src/domain/images/KernelImage.ts"
import type { Addressing } from "../../src/domain/images/SamplerOptions.ts"
import { runs } from "../support/explore.ts"

const border: Rgba = [0, 0, 0, 0]

/** An element that encodes its coordinates. */
const elementAt = ({ depth, height, layers, width }: ImageShape): Texel => (x, y, z) =>
  x >= 0 && x < width && y >= 0 && y < height && z >= 0 && z < depth * layers
    ? [x + 1, (y + 1) * 10, (z + 1) * 100, (x * 7 + y * 3 + z * 5) % 11]
    : border

const remainder = (index: number, size: number): number => ((index % size) + size) % size

/** Which element of the axis stands at an index of the endless image; -1 for the border. */
const element = (index: number, size: number, addressing: Addressing): number => {
  switch (addressing) {
    case "repeat":
      return remainder(index, size)
    case "mirroredRepeat": {
      const twice = remainder(index, 2 * size)
      return twice < size ? twice : 2 * size - 1 - twice
    }
    case "clampToBorder":
      return index >= 0 && index < size ? index : -1
    default:
      return Math.min(Math.max(index, 0), size - 1)
  }
}

/** The elements that count for a place on the endless axis. */
const weighted = (place: number, size: number, { addressing, filter }: Sampler) => {
  if (filter === "nearest") return [[element(Math.floor(place), size, addressing), 1] as const]
  const indices = [-1, 0, 1].map((step) => Math.floor(place) + step)
  return indices.map((index) =>
    [element(index, size, addressing), Math.max(0, 1 - Math.abs(place - 0.5 - index))] as const
  )
}

const reference = (
  shape: ImageShape,
  texel: Texel,
  sampler: Sampler,
  [x, y, z]: readonly [number, number, number]
): ReadonlyArray<number> => {
  const flat = shape.kind === "1d" || shape.kind === "1dArray"
  const layer = Math.min(Math.max(Math.round(z), 0), shape.layers - 1)
  const sum = [0, 0, 0, 0]
  for (const [atX, wx] of weighted(x, shape.width, sampler)) {
    for (const [atY, wy] of flat ? [[0, 1] as const] : weighted(y, shape.height, sampler)) {
      for (const [atZ, wz] of shape.kind === "3d" ? weighted(z, shape.depth, sampler) : [[layer, 1] as const]) {
        texel(atX, atY, atZ).forEach((channel, at) => sum[at]! += wx * wy * wz * channel)
      }
    }
  }
  return sum
}

const hole: Texel = (x) => x === 1 ? [NaN, NaN, NaN, NaN] : [1, 1, 1, 1]

const kinds: ReadonlyArray<ImageKind> = ["1d", "1dArray", "2d", "2dArray", "3d"]

const shapes: fc.Arbitrary<ImageShape> = fc.record({
  kind: fc.constantFrom(...kinds),
  a: fc.integer({ min: 1, max: 5 }),
  b: fc.integer({ min: 1, max: 5 }),
  c: fc.integer({ min: 1, max: 5 })
}).map(({ a, b, c, kind }) => ({
  kind,
  width: a,
  height: kind === "1d" || kind === "1dArray" ? 1 : b,
  depth: kind === "3d" ? c : 1,
  layers: kind === "1dArray" || kind === "2dArray" ? c : 1
}))

const addressings: ReadonlyArray<Addressing> = ["clampToEdge", "clampToBorder", "repeat", "mirroredRepeat", "none"]

const samplers: fc.Arbitrary<Sampler> = fc.record({
  addressing: fc.constantFrom(...addressings),
  filter: fc.constantFrom("nearest", "linear"),
  normalizedCoordinates: fc.boolean()
}).map((sampler) =>
  sampler.addressing === "repeat" || sampler.addressing === "mirroredRepeat"
    ? { ...sampler, normalizedCoordinates: true }
    : sampler
)

/** Never between two elements, where rounding decides. */
const places = fc.integer({ min: -60, max: 60 }).map((tenths) => tenths / 4 + 1 / 16)

describe("ImageSampling.sample", () => {
  it("is what an endless image has, for every kind, addressing and filter", () => {
    fc.assert(
      fc.property(shapes, samplers, fc.tuple(places, places, places), (shape, sampler, place) => {
        const texel = elementAt(shape)
        const isArray = shape.layers > 1 || shape.kind.endsWith("Array")
        const [x, y, z] = sampler.normalizedCoordinates
          ? [place[0] / shape.width, place[1] / shape.height, isArray ? place[2] : place[2] / shape.depth]
          : place
        const found = sample(shape, texel, sampler, x, y, z)
        reference(shape, texel, sampler, place).forEach((channel, at) => assert.closeTo(found[at]!, channel, 1e-9))
      }),
      { numRuns: runs(2000) }
    )
  })

  it("reads each element at its middle, whatever the filter", () => {
    fc.assert(
      fc.property(shapes, samplers, (shape, sampler) => {
        const texel = elementAt(shape)
        for (let x = 0; x < shape.width; x++) {
          for (let y = 0; y < shape.height; y++) {
            const [u, v] = [x + 0.5, y + 0.5]
            const at = sampler.normalizedCoordinates ? [u / shape.width, v / shape.height] as const : [u, v] as const
            const depth = sampler.normalizedCoordinates ? 0.5 / shape.depth : 0.5
            const found = sample(shape, texel, sampler, ...at, shape.kind === "3d" ? depth : 0)
            texel(x, y, 0).forEach((channel, index) => assert.closeTo(found[index]!, channel, 1e-9))
          }
        }
      })
    )
  })

  const row: ImageShape = { kind: "1d", width: 4, height: 1, depth: 1, layers: 1 }
  const at = (sampler: Partial<Sampler>, x: number): number =>
    sample(
      row,
      elementAt(row),
      { addressing: "clampToEdge", filter: "nearest", normalizedCoordinates: true, ...sampler },
      x,
      0,
      0
    )[0]

  it("follows the specification between two elements", () => {
    assert.deepStrictEqual([0, 0.25, 0.5, 1, -1, 2].map((x) => at({}, x)), [1, 2, 3, 4, 1, 4])
    assert.deepStrictEqual([0, 0.25, 1, -0.25, 1.25].map((x) => at({ addressing: "repeat" }, x)), [1, 2, 1, 4, 2])
    // mirrored: |1.25 - 2| = 0.75 is the beginning of the fourth element
    assert.deepStrictEqual([1, 1.25, -0.25, 2].map((x) => at({ addressing: "mirroredRepeat" }, x)), [4, 4, 2, 1])
    assert.deepStrictEqual([-0.1, 0, 1].map((x) => at({ addressing: "clampToBorder" }, x)), [0, 1, 0])
  })

  it("takes a coordinate a hair below 0 for the end of a repeated image, and not for what is beyond", () => {
    assert.strictEqual(at({ addressing: "repeat" }, -1e-20), 1)
    assert.isTrue(Number.isFinite(at({ addressing: "repeat", filter: "linear" }, -1e-20)))
  })

  it("lets no element in that does not count", () => {
    const linear = { addressing: "clampToEdge", filter: "linear", normalizedCoordinates: false } as const
    assert.deepStrictEqual(sample(row, hole, linear, 0.5, 0, 0), [1, 1, 1, 1])
    assert.isNaN(sample(row, hole, linear, 1, 0, 0)[0])
  })
})
