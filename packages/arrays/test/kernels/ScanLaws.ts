/**
 * The results of scans on every backend, against plain loops.
 */
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Random } from "../../../testing/src/Random.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as ScanKernel from "../../src/kernels/ScanKernel.ts"
import { affine, type Gpu, lengths, upload } from "./ReductionLaws.ts"

const cumsum = ScanKernel.make({
  name: "cumsum",
  args: [VectorArg("i32", "x", { access: "read", withOffset: true })],
  map: ({ x }) => x,
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

const composed = ScanKernel.make({
  name: "composed",
  args: [VectorArg("u32", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: affine.expr,
  neutral: affine.neutral
})

const lastNonZero = ScanKernel.make({
  name: "last_non_zero",
  args: [VectorArg("f32", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: (a, b) => Expr.where(Expr.notEqual(b, 0), b, a),
  neutral: 0
})

/** Names that the library might want, a scalar, the index, and results of another type. */
const runningMean = ScanKernel.make({
  name: "running_mean",
  args: [VectorArg("u32", "result", { access: "read" }), ScalarArg("f32", "before"), ScalarArg("u32", "exclusive")],
  map: ({ exclusive, result }) => Expr.add(result, exclusive),
  combine: (a, b) => Expr.add(a, b),
  neutral: 0,
  output: (scanned, { before, result }, index) =>
    Expr.add(
      Expr.divide(Expr.astype(scanned, "f32"), Expr.astype(Expr.add(index, 1), "f32")),
      Expr.add(before, Expr.astype(result, "f32"))
    )
})

const floats = ScanKernel.make({
  name: "cumsum_f32",
  args: [VectorArg("f32", "x", { access: "read" })],
  map: ({ x }) => x,
  combine: (a, b) => Expr.add(a, b),
  neutral: 0
})

/** Inclusive and exclusive. */
const scanned = (data: ArrayLike<number>, neutral: number, combine: (a: number, b: number) => number) => {
  let state = neutral
  const both: [inclusive: Array<number>, exclusive: Array<number>] = [[], []]
  for (const value of Array.from(data)) {
    both[1].push(state)
    state = combine(state, value)
    both[0].push(state)
  }
  return both
}

/** A fixed seed. */
const seed = 20_260_102

/** Registers the tests; `longest` limits the lengths for a slow device. */
export const scanLaws = (gpu: Layer.Layer<Gpu, unknown>, longest = Infinity): void =>
  layer(gpu, { excludeTestServices: true })("scans", (it) => {
    const lengthsHere = lengths.filter((length) => length <= longest)

    it.effect("adds up, with and without the element itself, from an offset on", () =>
      Effect.gen(function*() {
        const random = new Random(seed)
        for (const n of lengthsHere) {
          const data = Int32Array.from({ length: n + 2 }, () => random.integer(-0x80000000, 0x7fffffff))
          const x = { buffer: yield* upload(data), offset: 2 }
          const [inclusive, exclusive] = scanned(data.subarray(2), 0, (a, b) => (a + b) | 0)
          const before = (yield* BufferPool.stats).activeBlocks
          const first = yield* ScanKernel.run(cumsum, { x }, n)
          const second = yield* ScanKernel.run(cumsum, { x }, n, { exclusive: true })
          strictEqual((yield* BufferPool.stats).activeBlocks, before + (n === 0 ? 0 : 2))
          strictEqual(first.size, 4 * n)
          deepStrictEqual(yield* CommandQueue.read(first, Int32Array), Int32Array.from(inclusive), `${n} elements`)
          deepStrictEqual(yield* CommandQueue.read(second, Int32Array), Int32Array.from(exclusive), `${n} elements`)
        }
      }))

    it.effect("keeps the order of what does not commute", () =>
      Effect.gen(function*() {
        const random = new Random(seed)
        for (const n of lengthsHere) {
          const data = Uint32Array.from({ length: n }, () => random.integer(0, 0xffffffff) | 0x10000)
          const x = yield* upload(data)
          const [inclusive, exclusive] = scanned(data, affine.neutral, affine.plain)
          for (const [options, expected] of [[{}, inclusive], [{ exclusive: true }, exclusive]] as const) {
            const lease = yield* ScanKernel.run(composed, { x }, n, options)
            deepStrictEqual(yield* CommandQueue.read(lease, Uint32Array), Uint32Array.from(expected), `${n} elements`)
          }
          const sparse = Float32Array.from(data, (value, k) => value % 97 === 0 ? k + 1 : 0)
          const filled = yield* ScanKernel.run(lastNonZero, { x: yield* upload(sparse) }, n)
          const [last] = scanned(sparse, 0, (a, b) => b === 0 ? a : b)
          deepStrictEqual(yield* CommandQueue.read(filled, Float32Array), Float32Array.from(last), `${n} elements`)
        }
      }))

    it.effect("stores what the output makes of the scanned value", () =>
      Effect.gen(function*() {
        const random = new Random(seed)
        const data = Uint32Array.from({ length: 1000 }, () => random.integer(0, 1000))
        const result = yield* upload(data)
        const lease = yield* ScanKernel.run(runningMean, { result, before: 0.5, exclusive: 2 }, 1000)
        const [sums] = scanned(data, 0, (a, b) => a + b + 2)
        const { fround } = Math
        const expected = sums.map((sum, k) => fround(fround(sum / (k + 1)) + fround(0.5 + data[k]!)))
        const means = yield* CommandQueue.read(lease, Float32Array)
        means.forEach((mean, k) => assert.closeTo(mean, expected[k]!, 1e-3))
      }))

    it.effect(
      "adds floats the same way each time, with an error that grows with the chunks",
      () =>
        Effect.gen(function*() {
          const random = new Random(seed)
          for (const n of lengthsHere.filter((length) => length > 0)) {
            const data = Float32Array.from({ length: n }, () => random.integer(0, 1e9) / 1e9)
            const x = yield* upload(data)
            const once = Effect.flatMap(
              ScanKernel.run(floats, { x }, n),
              (lease) => CommandQueue.read(lease, Float32Array)
            )
            const results = yield* once
            deepStrictEqual(yield* once, results)
            const [exact] = scanned(data, 0, (a, b) => a + b)
            const worst = results.reduce((most, sum, k) => Math.max(most, Math.abs(sum - exact[k]!) / exact[k]!), 0)
            assert.isAtMost(worst, (n / 65_536 + 600) * 2 ** -24, `${n} elements`)
          }
        })
    )
  })
