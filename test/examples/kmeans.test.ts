/** The centres: right against a program without arrays, on every backend, and with nothing left behind. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BufferPool, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as KMeans from "../../examples/kmeans/KMeans.ts"
import * as Points from "../../examples/kmeans/Points.ts"
import { describeWith } from "../support/required.ts"

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

/** The same in float64, point by point. */
const reference = (shape: Points.Shape, rounds: number): ReadonlyArray<number> => {
  const { clusters, dimensions, points } = shape
  const all = Points.around(shape)
  let centres = Array.from(Points.first(shape))
  for (let round = 0; round < rounds; round++) {
    const counts = upTo(clusters).map(() => 0)
    const sums = centres.map(() => 0)
    for (let point = 0; point < points; point++) {
      const distances = upTo(clusters).map((cluster) =>
        upTo(dimensions).reduce(
          (sum, axis) => sum + (all[axis * points + point]! - centres[cluster * dimensions + axis]!) ** 2,
          0
        )
      )
      const nearest = distances.indexOf(Math.min(...distances))
      counts[nearest]! += 1
      for (const axis of upTo(dimensions)) sums[nearest * dimensions + axis]! += all[axis * points + point]!
    }
    centres = centres.map((centre, at) => {
      const count = counts[Math.floor(at / dimensions)]!
      return count === 0 ? centre : sums[at]! / count
    })
  }
  return centres
}

const hostLayer: Layer.Layer<Device.Services, GpuError.GpuError> = Host.layer()

const shapes: ReadonlyArray<Points.Shape> = [
  { points: 997, clusters: 3, dimensions: 2 },
  { points: 500, clusters: 8, dimensions: 4 },
  { points: 200, clusters: 12, dimensions: 8 },
  { points: 5, clusters: 1, dimensions: 1 }
]

const tests = (device: typeof hostLayer): void => {
  it.live.each(shapes)(
    "$clusters centres of $points points in $dimensions dimensions are those of a loop",
    (shape) =>
      Effect.gen(function*() {
        const { clusters, dimensions, points } = shape
        const found = yield* Effect.scoped(Effect.gen(function*() {
          const data = yield* DeviceArray.fromHost(Points.around(shape), { shape: [dimensions, points] })
          const first = yield* DeviceArray.fromHost(Points.first(shape), { shape: [clusters, dimensions] })
          const centres = yield* KMeans.cluster(data, first, 5)
          assert.strictEqual((yield* BufferPool.stats).activeBlocks, 3)
          return yield* DeviceArray.toHost(centres)
        }))
        for (const [at, centre] of reference(shape, 5).entries()) assert.closeTo(found[at]!, centre, 1e-4, `${at}`)
        assert.strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      }).pipe(Effect.provide(Layer.provideMerge(BufferPool.layer(), device)))
  )
}

describe("k-means on the host", () => {
  tests(hostLayer)
})
describeWith(["webgpu"], "k-means on WebGPU", () => {
  tests(WebGpu.layer())
})
describeWith(["opencl"], "k-means on OpenCL", () => {
  tests(OpenCl.layer())
})

describe("npm run kmeans", () => {
  it("prints the centres and what they cost", async () => {
    const child = spawn(process.execPath, [
      "--conditions=effect-gpu-pool:source",
      join(import.meta.dirname, "../../examples/kmeans/main.ts"),
      "--points=1000",
      "--clusters=3",
      "--dimensions=2",
      "--rounds=4"
    ], { stdio: ["ignore", "pipe", "inherit"] })
    const lines = (await text(child.stdout)).trim().split("\n")
    assert.strictEqual(lines.length, 5)
    assert.match(lines[3]!, /^3 centres of 1000 points in 2 dimensions, on host/)
    assert.match(lines[4]!, /ms a round, at most 0\.0 MiB$/)
  })
})
