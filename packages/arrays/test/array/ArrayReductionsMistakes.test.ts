/** Valid and invalid calls of reductions. */
import { describe, expectTypeOf, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import { type Gpu, refuses, strictHost } from "./ArrayBackends.ts"

const { all, any, argmax, argmin, max, mean, min, prod, sum } = DeviceArray

type Reduction = (
  self: DeviceArray.DeviceArray,
  options: DeviceArray.ReductionOptions
) => Effect.Effect<unknown, GpuError, DeviceArray.ArrayServices>

const reductions: Readonly<Record<string, Reduction>> = { sum, prod, min, max, mean, argmin, argmax, any, all }

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
        readonly ["i32", "f32", "u32", "i32", "f32", "u32"]
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
})
