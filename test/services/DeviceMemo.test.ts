import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import { Host } from "../../src/host.ts"
import * as DeviceContext from "../../src/services/DeviceContext.ts"
import * as DeviceMemo from "../../src/services/DeviceMemo.ts"

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
