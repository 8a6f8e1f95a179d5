/** What elementwise operations refuse, when, and that nothing is left of a refused one. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, describe, it, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { CommandQueue, type GpuError, Lease } from "effect-gpu-pool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import { hasStats, nextTurn, open, ParkAt } from "../../../../../test/support/hostPool.ts"
import { refuses, strictHost } from "../ArrayBackends.ts"
import { binary } from "./OperationsReference.ts"

type Result = Effect.Effect<DeviceArray.DeviceArray, GpuError.GpuError, DeviceArray.ArrayServices>
type Untyped = (...args: ReadonlyArray<unknown>) => Result

const untyped = (f: unknown): Untyped => f as Untyped

const ones = (shape: ReadonlyArray<number>) =>
  DeviceArray.fromHost(new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(1), { shape })

layer(strictHost)("what is refused takes nothing from the pool", (it) => {
  it.effect("shapes that do not broadcast, both named", () =>
    Effect.gen(function*() {
      const [x, y] = [yield* ones([2, 3]), yield* ones([4])]
      for (const { of } of Object.values(binary).slice(0, 8)) {
        yield* refuses("InvalidRequest", of(x, y), "[2, 3]", "[4]", "reshape")
      }
      yield* refuses("InvalidRequest", DeviceArray.clip(x, 0, y), "DeviceArray.clip", "[2, 3]", "[4]")
      yield* refuses("InvalidRequest", DeviceArray.where(x, y, 0), "DeviceArray.where", "[2, 3]", "[4]")
      yield* refuses("InvalidRequest", DeviceArray.lazy(DeviceArray.add(x, y)), "DeviceArray.add", "[2, 3]", "[4]")
    }))

  it.effect("floats where integers are needed, with their types", () =>
    Effect.gen(function*() {
      const [x, i] = [yield* ones([2]), yield* DeviceArray.fromHost(Int32Array.of(1, 2))]
      const { bitwiseAnd, bitwiseOr, bitwiseXor, leftShift, rightShift } = DeviceArray
      for (const [name, of] of Object.entries({ bitwiseAnd, bitwiseOr, bitwiseXor, leftShift, rightShift })) {
        yield* refuses("InvalidRequest", untyped(of)(i, x), `DeviceArray.${name}`, "i32 and f32")
        yield* refuses("InvalidRequest", untyped(of)(x, 1), "f32", "DeviceArray.astype")
      }
      yield* refuses("InvalidRequest", untyped(DeviceArray.bitwiseNot)(x), "DeviceArray.bitwiseNot", "f32")
      yield* refuses("InvalidRequest", untyped(DeviceArray.countOneBits)(x), "f32")
    }))

  it.effect("numbers that the type beside them does not hold", () =>
    Effect.gen(function*() {
      const i = yield* DeviceArray.fromHost(Int32Array.of(1, 2))
      const u = yield* DeviceArray.fromHost(Uint32Array.of(1, 2))
      yield* refuses("InvalidRequest", DeviceArray.add(i, 0.5), "DeviceArray.add", "0.5", "i32")
      yield* refuses("InvalidRequest", DeviceArray.add(2 ** 31, i), "2147483648", "i32")
      yield* refuses("InvalidRequest", DeviceArray.less(u, -1), "-1", "u32")
      yield* refuses("InvalidRequest", DeviceArray.where(i, u, NaN), "NaN", "u32")
      yield* refuses("InvalidRequest", DeviceArray.clip(u, 0, Infinity), "Infinity", "u32")
      yield* refuses("InvalidRequest", DeviceArray.leftShift(i, -1), "-1", "u32")
      yield* refuses("InvalidRequest", DeviceArray.power(i, -2), "DeviceArray.power", "-2", "DeviceArray.astype")
    }))

  it.effect("a type that the device lacks, eager and lazy", () =>
    Effect.gen(function*() {
      const queue = yield* CommandQueue.CommandQueue
      const single = {
        ...queue,
        info: { ...queue.info, dtypes: new Set(["f32", "i32", "u32"] as const) }
      }
      const x = yield* ones([2])
      const cast = Effect.provideService(DeviceArray.astype(x, "f64"), CommandQueue.CommandQueue, single)
      yield* refuses("Unsupported", cast, "DeviceArray.astype", "f64", "Use one of f32, i32, u32")
      yield* refuses("Unsupported", DeviceArray.lazy(cast), "f64")
    }))
})

describe("what fails leaves no lease", () => {
  it.effect("when an operand was released", () =>
    Effect.gen(function*() {
      const x = yield* ones([8])
      yield* Lease.release(x.lease!)
      const error = yield* Effect.flip(DeviceArray.add(x, 1))
      strictEqual(error.reason._tag, "Released")
      yield* hasStats({ activeBlocks: 0 })
    }).pipe(Effect.provide(strictHost)))

  it.effect("wherever it is interrupted", () =>
    Effect.gen(function*() {
      for (const form of [(effect: Result): Result => effect, DeviceArray.scoped, DeviceArray.lazy]) {
        let reached = true
        for (let k = 0; reached; k++) reached = yield* interruptedAt(k, form)
      }
    }))
})

/** Interrupts an expression before its k-th step. False when it has no k-th step. */
const interruptedAt = Effect.fnUntraced(function*(k: number, form: (effect: Result) => Result) {
  const opened = yield* open()
  const [mine, theirs] = [Scope.makeUnsafe(), Scope.makeUnsafe()]
  const services = Context.add(opened.context, Scope.Scope, theirs)
  const x = yield* Effect.provide(ones([4, 1]), services)
  const scheduler = new ParkAt(k)
  const context = opened.context.pipe(Context.add(Scope.Scope, mine), Context.add(Scheduler.Scheduler, scheduler))
  const expression = DeviceArray.add(x, 1).pipe(
    Effect.flatMap(DeviceArray.sqrt),
    Effect.flatMap(DeviceArray.where(x, 0))
  )
  const fiber = Effect.runForkWith(context)(form(expression))
  for (let turns = 0; !scheduler.reached && fiber.pollUnsafe() === undefined; turns++) {
    assert.isBelow(turns, 1000)
    yield* nextTurn
  }
  fiber.interruptUnsafe()
  scheduler.resume()
  const exit = yield* Fiber.await(fiber)
  if (!scheduler.reached) assert(Exit.isSuccess(exit), "undisturbed")
  yield* Scope.close(mine, Exit.void)
  const { activeBlocks } = yield* opened.pool.stats
  strictEqual(activeBlocks, 1)
  yield* Scope.close(theirs, Exit.void)
  yield* opened.closePool
  yield* opened.closeHost
  return scheduler.reached
})

const numbers = (result: Result) => Effect.map(Effect.flatMap(result, DeviceArray.toHost), (all) => [...all])

layer(strictHost)("the forms of a call", (it) => {
  it.effect("give the same with the array first and last, and with a number on either side", () =>
    Effect.gen(function*() {
      const x = yield* DeviceArray.fromHost(Float32Array.of(1, 2, 4))
      const y = yield* DeviceArray.fromHost(Float32Array.of(4, 2, 1))
      deepStrictEqual(yield* numbers(DeviceArray.subtract(x, y)), [-3, 0, 3])
      deepStrictEqual(yield* numbers(x.pipe(DeviceArray.subtract(y))), [-3, 0, 3])
      deepStrictEqual(yield* numbers(DeviceArray.subtract(x, 1)), [0, 1, 3])
      deepStrictEqual(yield* numbers(x.pipe(DeviceArray.subtract(1))), [0, 1, 3])
      deepStrictEqual(yield* numbers(DeviceArray.subtract(1, x)), [0, -1, -3])
      deepStrictEqual(yield* numbers(x.pipe(DeviceArray.clip(y, 3))), [3, 2, 3])
      deepStrictEqual(yield* numbers(DeviceArray.clip(x, y, 3)), [3, 2, 3])
      deepStrictEqual(yield* numbers(x.pipe(DeviceArray.astype("u32"))), [1, 2, 4])
      deepStrictEqual(yield* numbers(x.pipe(DeviceArray.power(2))), [1, 4, 16])
      deepStrictEqual(yield* numbers(DeviceArray.power(2, x)), [2, 4, 16])
      deepStrictEqual(yield* numbers(DeviceArray.leftShift(1, yield* DeviceArray.astype(x, "u32"))), [2, 4, 16])
    }))

  it.effect("have precise types", () =>
    Effect.gen(function*() {
      const f = yield* DeviceArray.fromHost(Float32Array.of(1))
      const i = yield* DeviceArray.fromHost(Int32Array.of(1))
      const u = yield* DeviceArray.fromHost(Uint32Array.of(1))
      const float: ReadonlyArray<DeviceArray.DeviceArray<"f32">> = [
        yield* f.pipe(DeviceArray.add(1), Effect.flatMap(DeviceArray.multiply(i))),
        yield* DeviceArray.add(u, f),
        yield* DeviceArray.divide(i, u),
        yield* DeviceArray.divide(1, i),
        yield* i.pipe(DeviceArray.divide(2), Effect.flatMap(DeviceArray.atan2(u))),
        yield* DeviceArray.sqrt(u),
        yield* DeviceArray.where(i, 0.5, 1),
        yield* i.pipe(DeviceArray.where(f, u)),
        yield* DeviceArray.clip(i, f, 3),
        yield* DeviceArray.astype(i, "f32")
      ]
      const integer: ReadonlyArray<DeviceArray.DeviceArray<"i32">> = [
        yield* u.pipe(DeviceArray.add(i), Effect.flatMap(DeviceArray.abs)),
        yield* DeviceArray.bitwiseAnd(i, u),
        yield* u.pipe(DeviceArray.bitwiseXor(i)),
        yield* i.pipe(DeviceArray.leftShift(u)),
        yield* DeviceArray.rightShift(i, 3),
        yield* DeviceArray.floor(i),
        yield* DeviceArray.power(i, 3),
        yield* DeviceArray.where(f, i, 0),
        yield* f.pipe(DeviceArray.where(0, i)),
        yield* i.pipe(DeviceArray.clip(0, 3)),
        yield* f.pipe(DeviceArray.astype("i32"))
      ]
      const truth: ReadonlyArray<DeviceArray.DeviceArray<"bool">> = [
        yield* DeviceArray.less(f, i),
        yield* DeviceArray.equal(1, i),
        yield* i.pipe(DeviceArray.greater(u)),
        yield* DeviceArray.logicalAnd(f, u),
        yield* DeviceArray.logicalNot(f),
        yield* DeviceArray.isNaN(i)
      ]
      deepStrictEqual(float.map(({ dtype }) => dtype), float.map(() => "f32"))
      deepStrictEqual(integer.map(({ dtype }) => dtype), integer.map(() => "i32"))
      deepStrictEqual(truth.map(({ dtype }) => dtype), truth.map(() => "bool"))
      const refused = [
        // @ts-expect-error floats have no bits to combine
        DeviceArray.bitwiseAnd(f, 1),
        // @ts-expect-error floats have no bits to turn
        DeviceArray.bitwiseNot(f),
        // @ts-expect-error places are whole
        DeviceArray.leftShift(i, f)
      ]
      for (const effect of refused) strictEqual((yield* Effect.flip(effect)).reason._tag, "InvalidRequest")
    }))
})
