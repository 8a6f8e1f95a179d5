/** Operations whose operands are effects of arrays: nested and piped, they are one kernel. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { DType } from "effect-gpu-pool/DType"
import { invalidRequest } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import { costOf, type Gpu, refusal, refuses, strictHost } from "./ArrayBackends.ts"
import { ofArrays } from "./SampleCalls.ts"

const test = (name: string, effect: Effect.Effect<void, unknown, Gpu | Scope.Scope>) =>
  it.effect(name, () => Effect.scoped(effect).pipe(Effect.provide(strictHost)))

const elementsOf = (array: DeviceArray.ArrayOperand) =>
  Effect.map(DeviceArray.toHost(array), (all) => Array.from(all as ArrayLike<number | bigint>, Number))

const active = Effect.map(BufferPool.stats, ({ activeBlocks }) => activeBlocks)

/** The type of the elements of an effect's array, for the compiler. */
const typed = <D extends DType>(dtype: D, effect: DeviceArray.Computed<D>) =>
  Effect.tap(effect, (array) => Effect.sync(() => strictEqual(array.dtype, dtype)))

const functions = DeviceArray as unknown as Readonly<
  Record<string, (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown>>
>

const plainOf = (value: unknown): Effect.Effect<unknown, unknown, Gpu> => {
  if (value instanceof DeviceArray.DeviceArray) {
    return Effect.map(DeviceArray.toNested(value), (nested) => [value.dtype, value.shape, nested])
  }
  return Array.isArray(value) ? Effect.forEach(value, plainOf) : Effect.succeed(value)
}

describe("Every function that takes an array", () => {
  const fresh = Effect.suspend(() => DeviceArray.fromHost(Int32Array.of(1, 0, 3, -2), { shape: [2, 2] }))
  for (const [name, argumentsOf] of Object.entries(ofArrays)) {
    const call = functions[name]!
    test(
      `takes the effect of one: ${name}`,
      Effect.gen(function*() {
        const ofArray = yield* Effect.flatMap(fresh, (x) => call(...argumentsOf(x))).pipe(
          Effect.flatMap(plainOf),
          Effect.exit
        )
        const before = yield* active
        const ofEffect = yield* call(...argumentsOf(fresh)).pipe(Effect.flatMap(plainOf), Effect.scoped, Effect.exit)
        assert.isTrue(Exit.isSuccess(ofArray), String(ofArray))
        deepStrictEqual(ofEffect, ofArray)
        strictEqual(yield* active, before)
      })
    )
  }
})

describe("Operations on effects of arrays", () => {
  test(
    "are one kernel and one lease, nested and piped, with the elements of single operations",
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([3, 4])
      const nested = yield* costOf(DeviceArray.sqrt(DeviceArray.add(DeviceArray.multiply(x, x), 9)))
      const piped = yield* costOf(x.pipe(DeviceArray.multiply(x), DeviceArray.add(9), DeviceArray.sqrt))
      const single = yield* DeviceArray.sqrt(yield* DeviceArray.add(yield* DeviceArray.multiply(x, x), 9))
      for (const { kernels, leases, value } of [nested, piped]) {
        deepStrictEqual([kernels, leases], [1, 1])
        deepStrictEqual(yield* elementsOf(value), yield* elementsOf(single))
      }
    })
  )

  test(
    "have the types that the operations give arrays",
    Effect.gen(function*() {
      const i = yield* DeviceArray.fromHost(Int32Array.of(1, 2))
      const f = yield* DeviceArray.fromHost([0.5, 1])
      yield* typed("f32", DeviceArray.add(DeviceArray.multiply(i, 2), f))
      yield* typed("i32", DeviceArray.add(DeviceArray.multiply(i, 2), i))
      yield* typed("f32", i.pipe(DeviceArray.add(1), DeviceArray.divide(2), DeviceArray.sum({ axis: 0 })))
      yield* typed("bool", DeviceArray.greater(DeviceArray.square(f), i))
      yield* typed("u32", DeviceArray.argmax(DeviceArray.negative(f)))
      yield* typed("f32", DeviceArray.where(DeviceArray.greater(i, 1), DeviceArray.sqrt(f), 0))
      yield* typed("f32", DeviceArray.concatenate([DeviceArray.abs(i), f]))
      yield* typed("i32", DeviceArray.fromHost(Int32Array.of(1)).pipe(DeviceArray.reshape([1, 1])))
    })
  )

  test(
    "release what their operands take, as soon as the result is there",
    Effect.gen(function*() {
      const before = yield* active
      const sum = yield* DeviceArray.sum(DeviceArray.matmul(DeviceArray.ones([2, 3]), DeviceArray.ones([3, 2])))
      strictEqual(yield* active, before + 1)
      deepStrictEqual(yield* elementsOf(sum), [12])
      strictEqual(yield* DeviceArray.toNumber(DeviceArray.sum(DeviceArray.arange(5))), 10)
      deepStrictEqual(yield* DeviceArray.toNested(DeviceArray.eye(2).pipe(DeviceArray.multiply(3))), [[3, 0], [0, 3]])
      strictEqual(yield* active, before + 1)
    })
  )

  test(
    "are part of the kernel of a lazy around them",
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2])
      const { kernels, leases, value } = yield* costOf(DeviceArray.lazy(Effect.gen(function*() {
        const y = yield* DeviceArray.add(DeviceArray.square(x), 1)
        return yield* DeviceArray.multiply(DeviceArray.negative(y), y)
      })))
      deepStrictEqual([kernels, leases], [1, 1])
      deepStrictEqual(yield* elementsOf(value), [-4, -25])
    })
  )

  test(
    "run an effect that two of them take twice",
    Effect.gen(function*() {
      let runs = 0
      const counted = Effect.tap(DeviceArray.fromHost([1]), () => Effect.sync(() => runs++))
      deepStrictEqual(yield* elementsOf(DeviceArray.add(counted, counted)), [2])
      strictEqual(runs, 2)
    })
  )

  test(
    "of any depth are cut into kernels",
    Effect.gen(function*() {
      let chain: DeviceArray.ArrayOperand<"f32"> = yield* DeviceArray.fromHost([0, 1])
      for (let step = 0; step < 1000; step++) chain = DeviceArray.add(chain, 1)
      const { kernels, value } = yield* costOf(DeviceArray.copy(chain))
      strictEqual(kernels, Math.ceil(1001 / 64))
      deepStrictEqual(yield* elementsOf(value), [1000, 1001])
    })
  )

  test(
    "write in place what they compute, without memory of its own",
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2, 3])
      const { kernels, leases } = yield* costOf(DeviceArray.assign(x, DeviceArray.add(DeviceArray.square(x), 1)))
      deepStrictEqual([kernels, leases], [1, 0])
      yield* DeviceArray.slice(x, [{ start: 1 }]).pipe(
        DeviceArray.assign(DeviceArray.negative(x).pipe(DeviceArray.slice([0])))
      )
      deepStrictEqual(yield* elementsOf(x), [2, -2, -2])
    })
  )

  test(
    "fail as their operands and as single operations do, and take nothing",
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost([1, 2])
      const y = yield* DeviceArray.fromHost([1, 2, 3])
      yield* refuses("InvalidRequest", DeviceArray.sqrt(DeviceArray.add(x, y)), "DeviceArray.add", "[2]", "[3]")
      yield* refuses("InvalidRequest", DeviceArray.toNumber(DeviceArray.add(x, 1)), "DeviceArray.toNumber")
      const error = invalidRequest("operand", "it is wrong", "Mend it.")
      strictEqual(yield* refusal(DeviceArray.add(x, Effect.fail(error))), error.reason)
      const before = yield* active
      assert.isTrue(
        (yield* Effect.exit(DeviceArray.add(DeviceArray.ones([4]), DeviceArray.ones([3]))))._tag === "Failure"
      )
      strictEqual(yield* active, before)
    })
  )

  it.effect("wait for no other program of a pool whose requests wait while they have memory", () => {
    const bytes = 4 * 64
    const program = DeviceArray.full([64], 3).pipe(
      DeviceArray.matmul(DeviceArray.ones([64, 1])),
      DeviceArray.add(DeviceArray.sum(DeviceArray.ones([64]))),
      DeviceArray.toNumber
    )
    return Effect.gen(function*() {
      const all = yield* Effect.replicateEffect(program, 16, { concurrency: "unbounded" })
      deepStrictEqual(all, Array.from({ length: 16 }, () => 256))
      strictEqual(yield* active, 0)
    }).pipe(
      Effect.provide(BufferPool.layer({ maxBytes: 6 * bytes, onExhausted: "wait" })),
      Effect.provide(Layer.fresh(Host.layer()))
    )
  })
})
