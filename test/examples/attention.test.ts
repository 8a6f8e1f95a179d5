/** The tokens: right against float64, on every backend, in pieces of any length, and with nothing left behind. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { BufferPool, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as fc from "fast-check"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Cache from "../../examples/attention/Cache.ts"
import * as Decoding from "../../examples/attention/Decoding.ts"
import * as Reference from "../../examples/attention/Reference.ts"
import * as Transformer from "../../examples/attention/Transformer.ts"
import * as Weights from "../../examples/attention/Weights.ts"
import { runs } from "../support/explore.ts"
import { describeWith } from "../support/required.ts"

const hostLayer: Layer.Layer<Device.Services, GpuError.GpuError> = Host.layer()

/** Elements are at most about 5, and f32 has seven digits. */
const isReference = (sizes: Weights.Sizes, elements: Float32Array): void => {
  const reference = Reference.decode(sizes, Weights.draw(sizes))
  assert.strictEqual(elements.length, reference.length)
  for (const [at, value] of reference.entries()) assert.closeTo(elements[at]!, value, 2e-5, `${at}`)
}

const upload = (sizes: Weights.Sizes) =>
  Effect.all([Weights.allToDevice(Weights.draw(sizes)), Weights.toDevice(Weights.drawTokens(sizes))])

/** Two blocks of the first cache's size, as the pool keeps them for reuse. */
const leaveNaN = ({ depth, heads, room }: Decoding.Options) => {
  const elements = new Float32Array(room * heads * depth).fill(NaN)
  return Effect.scoped(Effect.andThen(DeviceArray.fromHost(elements), DeviceArray.fromHost(elements)))
}

const cases: ReadonlyArray<Weights.Sizes & Decoding.Options> = [
  { tokens: 50, heads: 4, depth: 16, room: 16 },
  { tokens: 9, heads: 3, depth: 5, room: 1 },
  { tokens: 8, heads: 2, depth: 8, room: 8 },
  { tokens: 5, heads: 1, depth: 33, room: 64 },
  { tokens: 1, heads: 1, depth: 1, room: 1 }
]

const tests = (device: typeof hostLayer): void => {
  it.live.each(cases)(
    "$tokens tokens of $heads heads and $depth numbers, from room for $room on",
    (options) =>
      Effect.gen(function*() {
        const elements = yield* Effect.scoped(Effect.gen(function*() {
          const [weights, tokens] = yield* upload(options)
          yield* leaveNaN(options)
          const before = yield* BufferPool.stats
          const { cache, outputs } = yield* Decoding.decode(weights, tokens, options)
          const after = yield* BufferPool.stats
          // What is there besides the outputs is the last cache.
          assert.strictEqual(after.activeBlocks - before.activeBlocks, 3)
          assert.strictEqual(after.activeBytes - before.activeBytes, 4 * outputs.size + Cache.bytesOf(cache))
          const doublings = Math.max(0, Math.ceil(Math.log2(options.tokens / options.room)))
          assert.strictEqual(Cache.roomOf(cache), options.room * 2 ** doublings)
          return yield* DeviceArray.toHost(outputs)
        }))
        isReference(options, elements)
        assert.strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      }).pipe(Effect.provide(Layer.provideMerge(BufferPool.layer(), device)))
  )
}

describe("a transformer block on the host", () => {
  tests(hostLayer)

  it.live("gives the same for any number of tokens at once", () =>
    Effect.gen(function*() {
      const context = yield* Effect.context<Device.Services | BufferPool.BufferPool>()
      const sizes = fc.record({
        heads: fc.integer({ min: 1, max: 3 }),
        depth: fc.integer({ min: 1, max: 9 }),
        pieces: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
        spare: fc.integer({ min: 0, max: 5 })
      })
      const holds = ({ depth, heads, pieces, spare }: typeof sizes extends fc.Arbitrary<infer A> ? A : never) =>
        Effect.gen(function*() {
          const tokens = pieces.reduce((sum, piece) => sum + piece, 0)
          const [weights, all] = yield* upload({ tokens, heads, depth })
          const cache = yield* Cache.empty(tokens + spare, heads, depth)
          const ends = pieces.map((_, at) => pieces.slice(0, at + 1).reduce((sum, piece) => sum + piece, 0))
          const outputs = yield* Effect.forEach(ends, (stop, at) =>
            Effect.gen(function*() {
              const start = stop - pieces[at]!
              const positions = yield* DeviceArray.arange(start, stop, { dtype: "u32" })
              const piece = yield* DeviceArray.slice(all, [{ start, stop }])
              return yield* Transformer.step(weights, cache, piece, positions)
            }))
          isReference({ tokens, heads, depth }, yield* DeviceArray.toHost(DeviceArray.concatenate(outputs)))
        })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(sizes, (value) => Effect.runPromiseWith(context)(Effect.scoped(holds(value)))),
          { numRuns: runs(100) }
        )
      )
    }).pipe(Effect.provide(Layer.provideMerge(BufferPool.layer(), hostLayer))))

  it.live("is traced once for each size of the cache", () =>
    Effect.gen(function*() {
      const messages: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ message }) => void messages.push(message))
      const options = { tokens: 40, heads: 2, depth: 4, room: 8 }
      yield* Effect.gen(function*() {
        const [weights, tokens] = yield* upload(options)
        for (let time = 0; time < 2; time++) yield* Decoding.decode(weights, tokens, options)
      }).pipe(
        Effect.scoped,
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Debug")
      )
      assert.deepStrictEqual(
        messages.flat(),
        [8, 16, 32, 64].map((room) => `traced with a cache for ${room} tokens`)
      )
    }).pipe(Effect.provide(Layer.provideMerge(BufferPool.layer(), hostLayer))))
})
describeWith(["webgpu"], "a transformer block on WebGPU", () => {
  tests(WebGpu.layer())
})
describeWith(["opencl"], "a transformer block on OpenCL", () => {
  tests(OpenCl.layer())
})

describe("npm run attention", () => {
  it("prints what the memory is for, and how far the result is from float64", async () => {
    const child = spawn(process.execPath, [
      "--conditions=effect-gpu-pool:source",
      join(import.meta.dirname, "../../examples/attention/main.ts"),
      "--tokens=20",
      "--heads=2",
      "--depth=8",
      "--room=4"
    ], { stdio: ["ignore", "pipe", "inherit"] })
    const lines = (await text(child.stdout)).trim().split("\n")
    assert.strictEqual(lines.length, 7)
    assert.match(lines[0]!, /^20 tokens of 16 numbers, on host/)
    assert.match(lines[1]!, /ms a token, kernels and traces included$/)
    assert.match(lines[2]!, /^largest difference from float64: \d\.\de-[78]$/)
    assert.match(lines[4]!, /^cache: +4\.0 KiB, for 32 tokens$/)
    for (const line of lines.slice(3)) assert.match(line, /: +\d+\.\d KiB/)
  })
})
