/** Valid and invalid calls of reductions. */
import { describe, expectTypeOf, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"
import { type Gpu, refuses, strictHost } from "../ArrayBackends.ts"

const { all, any, argmax, argmin, max, mean, min, prod, std, sum, variance } = DeviceArray

type Reduction = (
  self: DeviceArray.DeviceArray,
  options: DeviceArray.PositionOptions
) => Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const reductions: Readonly<Record<string, Reduction>> = {
  sum,
  prod,
  min,
  max,
  mean,
  argmin,
  argmax,
  any,
  all,
  variance,
  std
}

const test = (name: string, effect: Effect.Effect<void, unknown, Gpu | DeviceArray.ArrayServices>) =>
  it.effect(name, () => Effect.scoped(effect).pipe(Effect.provide(strictHost)))

type ResultOf<E> = E extends Effect.Effect<DeviceArray.DeviceArray<infer D>, infer _E, infer _R> ? D : never

type TypesOf<T> = { readonly [I in keyof T]: ResultOf<T[I]> }

const ofIntegers = (x: DeviceArray.DeviceArray<"i32">) =>
  [sum(x), mean(x, { axis: 0 }), argmax(x), x.pipe(max()), x.pipe(mean({ axis: 1 })), x.pipe(any())] as const

const ofHalves = (x: Effect.Effect<DeviceArray.DeviceArray<"f16">>) =>
  [Effect.flatMap(x, sum({ axis: 0 })), Effect.flatMap(x, mean()), Effect.flatMap(x, argmin({ axis: 0 }))] as const

describe("Reductions are called", () => {
  test(
    "with the array first or last, with options or without",
    Effect.gen(function*() {
      expectTypeOf<TypesOf<ReturnType<typeof ofIntegers>>>().toEqualTypeOf<
        readonly ["i32", "f32", "u32", "i32", "f32", "bool"]
      >()
      expectTypeOf<TypesOf<ReturnType<typeof ofHalves>>>().toEqualTypeOf<readonly ["f16", "f16", "u32"]>()
      const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
      const totals = [
        DeviceArray.sum(x),
        DeviceArray.sum(x, {}),
        DeviceArray.sum(x, undefined),
        DeviceArray.sum()(x),
        DeviceArray.sum({})(x),
        x.pipe(DeviceArray.sum()),
        Effect.flatMap(Effect.succeed(x), DeviceArray.sum()),
        Effect.flatMap(Effect.succeed(x), (array) => DeviceArray.sum(array))
      ]
      for (const total of totals) deepStrictEqual(yield* DeviceArray.toNested(yield* total), 21)
      const columns = [
        DeviceArray.sum(x, { axis: 0 }),
        DeviceArray.sum({ axis: -2 })(x),
        x.pipe(DeviceArray.sum({ axis: 0, keepDims: false })),
        Effect.flatMap(Effect.succeed(x), DeviceArray.sum({ axis: 0 })),
        Effect.flatMap(Effect.succeed(x), DeviceArray.sum({ axis: 0, keepDims: undefined }))
      ]
      for (const column of columns) deepStrictEqual(yield* DeviceArray.toNested(yield* column), [5, 7, 9])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.sum(x, { keepDims: true })), [[21]])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.max(x, { axis: 1, keepDims: true })), [[3], [6]])
    })
  )
})

describe("Reductions", () => {
  test(
    "along several axes, in any order, and of no elements from an initial number",
    Effect.gen(function*() {
      const x = yield* DeviceArray.reshape(yield* DeviceArray.arange(24, { dtype: "i32" }), [2, 3, 4])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.sum(x, { axis: [-1, 0] })), [60, 92, 124])
      deepStrictEqual((yield* DeviceArray.sum(x, { axis: [2, 0], keepDims: true })).shape, [1, 3, 1])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.max(x, { axis: [0, 1], initial: 22 })), [
        22,
        22,
        22,
        23
      ])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.prod(x, { axis: [0, 1, 2], initial: 3 })), 0)
      deepStrictEqual(
        yield* DeviceArray.toNested(yield* DeviceArray.sum(x, { axis: [] })),
        yield* DeviceArray.toNested(x)
      )
      const none = yield* DeviceArray.zeros([2, 0])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.min(none, { axis: 1, initial: 7 })), [7, 7])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.variance(none, { axis: 1 })), [NaN, NaN])
    })
  )

  test(
    "to variances that lose nothing where the mean is large, of samples and of recorded arrays",
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([[10000.5, 10001.5], [3, 7]])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.variance(x, { axis: 1 })), [0.25, 4])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.std(x, { axis: 1, keepDims: true })), [[0.5], [2]])
      deepStrictEqual(yield* DeviceArray.toNested(yield* x.pipe(DeviceArray.variance({ axis: -1, ddof: 1 }))), [0.5, 8])
      deepStrictEqual(yield* DeviceArray.toNested(yield* DeviceArray.std(x, { axis: 1, ddof: 3 })), [
        Infinity,
        Infinity
      ])
      const doubled = yield* DeviceArray.lazy(Effect.flatMap(DeviceArray.multiply(x, 2), DeviceArray.std({ axis: 1 })))
      deepStrictEqual(yield* DeviceArray.toNested(doubled), [1, 4])
      strictEqual((yield* BufferPool.stats).activeBlocks, 6)
    })
  )
})

describe("Reductions refuse", () => {
  test(
    "axes that the array has not, and name axis and shape",
    Effect.gen(function*() {
      const x = yield* DeviceArray.zeros([2, 3])
      const one = yield* DeviceArray.sum(x)
      for (const [name, of] of Object.entries(reductions)) {
        for (const axis of [2, -3, 0.5, NaN, Infinity]) {
          yield* refuses("InvalidRequest", of(x, { axis }), `DeviceArray.${name}`, "[2, 3]", "no axis")
        }
        yield* refuses("InvalidRequest", of(x, { axis: 2 }), "no axis 2 in the shape [2, 3]", "-2 to 1")
        yield* refuses("InvalidRequest", of(one, { axis: 0 }), "no axis 0 in the shape []")
      }
    })
  )

  test(
    "axes named twice, several for a position, and numbers that the type has not",
    Effect.gen(function*() {
      const x = yield* DeviceArray.zeros([2, 3], { dtype: "i32" })
      yield* refuses("InvalidRequest", DeviceArray.sum(x, { axis: [0, -2] }), "sum", "axis 0", "twice")
      yield* refuses("InvalidRequest", DeviceArray.mean(x, { axis: [0, 2] }), "mean", "axis 2", "[2, 3]")
      yield* refuses("InvalidRequest", DeviceArray.sum(x, { initial: 0.5 }), "sum", "0.5", "i32")
      yield* refuses("InvalidRequest", DeviceArray.variance(x, { ddof: NaN }), "variance", "NaN")
      const several: unknown = { axis: [0, 1] }
      yield* refuses(
        "InvalidRequest",
        DeviceArray.argmin(x, several as DeviceArray.PositionOptions),
        "argmin",
        "[0, 1]"
      )
    })
  )
})
