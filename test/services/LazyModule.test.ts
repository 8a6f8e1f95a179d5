import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as LazyModule from "../../src/services/calls/LazyModule.ts"

interface Counter {
  readonly next: (by: number) => Effect.Effect<number, GpuError>
  readonly last: () => number
}

const counter = (): Counter => {
  let count = 0
  return { next: (by) => Effect.sync(() => count += by), last: () => count }
}

/** A module that loads when the test says so, and how often it was requested. */
const planned = () => {
  const answers: Array<
    { readonly resolve: (module: typeof counter) => void; readonly reject: (cause: unknown) => void }
  > = []
  const part = LazyModule.module("a/Counter", () =>
    new Promise<typeof counter>((resolve, reject) => {
      answers.push({ resolve, reject })
    }))
  return { answers, part: part.map((make) => make()) }
}

describe("LazyModule", () => {
  it.effect("loads once for fibers that ask at once, and goes on with one and the same", () =>
    Effect.gen(function*() {
      const { answers, part } = planned()
      const { next } = part.effects(["next"])
      strictEqual(part.value, undefined)
      const first = yield* Effect.forkChild(next(1), { startImmediately: true })
      const second = yield* Effect.forkChild(next(10), { startImmediately: true })
      strictEqual(answers.length, 1)
      answers[0]!.resolve(counter)
      deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], [1, 11])
      strictEqual(yield* next(100), 111)
      strictEqual(part.calls(["last"]).last(), 111)
      strictEqual(answers.length, 1)
    }))

  it.effect("is used in the same step once it is loaded", () =>
    Effect.gen(function*() {
      const { answers, part } = planned()
      const { next } = part.effects(["next"])
      const loading = yield* Effect.forkChild(next(1), { startImmediately: true })
      answers[0]!.resolve(counter)
      yield* Fiber.join(loading)
      const direct = next(1)
      strictEqual(part.use(() => direct), direct)
      strictEqual(Effect.runSync(direct), 2)
    }))

  it.effect("fails with an error that names the module and the next step, and is tried again by the next call", () =>
    Effect.gen(function*() {
      const { answers, part } = planned()
      const { next } = part.effects(["next"])
      const both = yield* Effect.forkChild(
        Effect.all([Effect.flip(next(1)), Effect.flip(next(1))], { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      answers[0]!.reject(new TypeError("Failed to fetch dynamically imported module: /assets/Counter.js"))
      const [error, other] = yield* Fiber.join(both)
      for (const { message, reason } of [error, other]) {
        strictEqual(reason._tag, "DriverError")
        assert.include(message, "import of a/Counter failed: Failed to fetch")
        assert.include(message, "call again")
      }
      strictEqual(part.value, undefined)
      const again = yield* Effect.forkChild(next(5), { startImmediately: true })
      strictEqual(answers.length, 2)
      answers[1]!.resolve(counter)
      strictEqual(yield* Fiber.join(again), 5)
    }))

  it.effect("leaves nothing behind when the wait for it is interrupted, and waits where nothing may be", () =>
    Effect.gen(function*() {
      const { answers, part } = planned()
      const { next } = part.effects(["next"])
      const interrupted = yield* Effect.forkChild(next(1), { startImmediately: true })
      let got = 0
      const getting = Effect.uninterruptible(Effect.map(next(10), (value) => void (got = value)))
      const waiting = yield* Effect.forkChild(getting, { startImmediately: true })
      yield* Fiber.interrupt(interrupted)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(interrupted)))
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(waiting), { startImmediately: true })
      answers[0]!.resolve(counter)
      yield* Fiber.join(interrupting)
      strictEqual(got, 10)
    }))

  it.effect("is no defect where the import itself throws", () =>
    Effect.gen(function*() {
      const part = LazyModule.module("a/Thrower", (): Promise<Counter> => {
        throw new Error("no import here")
      })
      const error = yield* Effect.flip(part.use(({ next }) => next(1)))
      assert.include(error.message, "import of a/Thrower failed: no import here")
    }))
})
