import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as fc from "fast-check"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Host } from "../../src/host.ts"
import * as DeviceContext from "../../src/services/device/DeviceContext.ts"
import * as DeviceMemo from "../../src/services/device/DeviceMemo.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const counted = (options?: { readonly capacity?: number }) => {
  const asked: Array<string> = []
  const memo = DeviceMemo.make(
    ({ name }: { readonly name: string }) =>
      Effect.map(DeviceContext.info, ({ backend }) => {
        asked.push(name)
        return `${name} on ${backend}`
      }),
    options
  )
  return { asked, get: (name: string) => memo.get({ name }), clear: memo.clear }
}

describe("a memo", () => {
  it.effect("computes once for each key, compared by its contents", () =>
    Effect.gen(function*() {
      const { asked, get } = counted()
      strictEqual(yield* get("a"), "a on host")
      strictEqual(yield* get("a"), "a on host")
      yield* get("b")
      deepStrictEqual(asked, ["a", "b"])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("begins anew with each opening of a device", () =>
    Effect.gen(function*() {
      const { asked, get } = counted()
      const twice = Effect.andThen(get("a"), get("a"))
      yield* Effect.provide(twice, Host.layer(), { local: true })
      yield* Effect.provide(twice, Host.layer(), { local: true })
      deepStrictEqual(asked, ["a", "a"])
    }))

  it.effect("forgets when asked to, and the oldest beyond its capacity", () =>
    Effect.gen(function*() {
      const { asked, clear, get } = counted({ capacity: 2 })
      yield* clear
      yield* get("a")
      yield* clear
      yield* Effect.forEach(["a", "b", "c", "a", "c"], get)
      deepStrictEqual(asked, ["a", "a", "b", "c", "a"])
    }).pipe(Effect.provide(Host.layer())))

  it.effect("keeps no failure", () =>
    Effect.gen(function*() {
      let calls = 0
      const memo = DeviceMemo.make(() =>
        Effect.suspend(() => ++calls === 1 ? Effect.fail("busy") : Effect.succeed(calls))
      )
      strictEqual(yield* Effect.flip(memo.get("x")), "busy")
      strictEqual(yield* memo.get("x"), 2)
      strictEqual(yield* memo.get("x"), 2)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("shares one lookup among fibers that ask at the same time", () =>
    Effect.gen(function*() {
      let calls = 0
      const gate = yield* Deferred.make<void>()
      const memo = DeviceMemo.make((key: number) => {
        calls++
        return Effect.as(Deferred.await(gate), key)
      })
      const fibers = yield* Effect.replicateEffect(Effect.forkChild(memo.get(7), { startImmediately: true }), 5)
      yield* Deferred.succeed(gate, undefined)
      deepStrictEqual(yield* Fiber.joinAll(fibers), [7, 7, 7, 7, 7])
      strictEqual(calls, 1)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("shares it wherever the run loop yields", () =>
    Effect.gen(function*() {
      for (const ops of [3, 4, 5, 6, 8]) {
        let calls = 0
        const memo = DeviceMemo.make((key: number) => Effect.sync(() => calls++ + key))
        yield* Effect.all([memo.get(7), memo.get(7), memo.get(7)], { concurrency: 3 }).pipe(
          Effect.provideService(Scheduler.MaxOpsBeforeYield, ops)
        )
        strictEqual(calls, 1, `a yield every ${ops} steps`)
      }
    }).pipe(Effect.provide(Host.layer())))

  it.effect("goes on for the others when the first to ask is interrupted", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const memo = DeviceMemo.make((key: number) => Effect.as(Deferred.await(gate), key))
      const ask = Effect.forkChild(memo.get(7), { startImmediately: true })
      const [first, second] = [yield* ask, yield* ask]
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(gate, undefined)
      strictEqual(yield* Fiber.join(second), 7)
    }).pipe(Effect.provide(Host.layer())))
})

const openHost = Layer.build(Layer.fresh(Host.layer()))

describe("clearing all memos", () => {
  it.effect("forgets what each of them computed on each device", () =>
    Effect.gen(function*() {
      const devices = [yield* openHost, yield* openHost]
      const memos = [counted(), counted()]
      const askAll = Effect.forEach(devices, (device) =>
        Effect.forEach(memos, ({ get }) => Effect.provideContext(get("a"), device)))
      yield* askAll
      yield* askAll
      deepStrictEqual(
        memos.map(({ asked }) =>
          asked.length
        ),
        [2, 2]
      )
      yield* DeviceMemo.clearAll
      yield* askAll
      deepStrictEqual(memos.map(({ asked }) => asked.length), [4, 4])
    }))

  it.effect("keeps neither the results nor, once they are closed, the devices", () =>
    Effect.gen(function*() {
      const memo = DeviceMemo.make((key: number) => Effect.map(DeviceContext.info, (info) => ({ info, key })))
      const device = yield* openHost
      const onDevice = Effect.provideContext(Effect.map(memo.get(1), (result) => new WeakRef(result)), device)
      const cleared = yield* onDevice
      yield* DeviceMemo.clearAll
      const kept = yield* onDevice
      const closed = yield* Effect.scoped(Effect.flatMap(openHost, (context) =>
        Effect.provideContext(
          Effect.map(memo.get(1), ({ info }) => new WeakRef(info)),
          context
        )))
      // A value that a fiber has read in a turn stays alive until the turn ends.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      collectGarbage()
      strictEqual(cleared.deref(), undefined)
      strictEqual(closed.deref(), undefined)
      assert.isDefined(kept.deref())
      strictEqual(kept.deref(), yield* Effect.provideContext(memo.get(1), device))
    }))

  it.effect("answers at every moment as a table that is emptied", () =>
    Effect.promise(() => {
      const [device, memo, key] = [fc.nat(1), fc.nat(1), fc.nat(1)]
      const ask = fc.record({ tag: fc.constant("ask" as const), device, memo, key })
      const clear = fc.record({ tag: fc.constant("clear" as const), device, memo })
      const clearAll = fc.record({ tag: fc.constant("clearAll" as const) })
      const finish = fc.record({ tag: fc.constant("finish" as const), lookup: fc.nat(7) })
      const steps = fc.array(
        fc.oneof({ weight: 5, arbitrary: ask }, { weight: 3, arbitrary: finish }, clear, clearAll),
        { maxLength: 40 }
      )
      return fc.assert(fc.asyncProperty(steps, (given) => Effect.runPromise(Effect.scoped(agreesWithTable(given)))))
    }))
})

type Step =
  | { readonly tag: "ask"; readonly device: number; readonly memo: number; readonly key: number }
  | { readonly tag: "clear"; readonly device: number; readonly memo: number }
  | { readonly tag: "clearAll" }
  | { readonly tag: "finish"; readonly lookup: number }

/** Reads two memos on two devices, ends lookups in any order, and compares which reader got which lookup's number. */
const agreesWithTable = Effect.fnUntraced(function*(steps: ReadonlyArray<Step>) {
  const devices = [yield* openHost, yield* openHost]
  const gates: Array<Deferred.Deferred<void>> = []
  const lookup = Effect.suspend(() => {
    const number = gates.length
    const gate = Deferred.makeUnsafe<void>()
    gates.push(gate)
    return Effect.as(Deferred.await(gate), number)
  })
  const memos = [0, 1].map(() => DeviceMemo.make((_key: number) => lookup))
  const table = new Map<string, number>()
  let lookups = 0
  const expected: Array<number> = []
  const fibers: Array<Fiber.Fiber<number>> = []
  for (const step of steps) {
    switch (step.tag) {
      case "ask": {
        const place = `${step.device} ${step.memo} ${step.key}`
        const number = table.get(place) ?? lookups++
        table.set(place, number)
        expected.push(number)
        const asked = Effect.provideContext(memos[step.memo]!.get(step.key), devices[step.device]!)
        fibers.push(yield* Effect.forkChild(asked, { startImmediately: true }))
        break
      }
      case "clear":
        for (const key of [0, 1]) table.delete(`${step.device} ${step.memo} ${key}`)
        yield* Effect.provideContext(memos[step.memo]!.clear, devices[step.device]!)
        break
      case "clearAll":
        table.clear()
        yield* DeviceMemo.clearAll
        break
      case "finish":
        if (step.lookup < gates.length) yield* Deferred.succeed(gates[step.lookup]!, undefined)
    }
  }
  yield* Effect.forEach(gates, (gate) => Deferred.succeed(gate, undefined))
  deepStrictEqual(yield* Fiber.joinAll(fibers), expected)
  strictEqual(gates.length, lookups)
})
