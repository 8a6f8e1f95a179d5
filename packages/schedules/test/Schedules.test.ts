/**
 * The explorer itself: it runs the schedules that it claims to run, finds every bad end, and names a path that repeats
 * it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as EffectRandom from "effect/Random"
import * as Tracer from "effect/Tracer"
import { Schedules } from "../src/index.ts"

const violationOf = (exploration: Effect.Effect<unknown, Schedules.ScheduleViolation>) => Effect.flip(exploration)

/** Two fibers of `steps` steps each, which record their order. */
const twoWriters = (steps: number, orders: { readonly add: (order: string) => unknown }) =>
  Effect.suspend(() => {
    let order = ""
    const writer = (letter: string) =>
      Effect.forEach(Array.from({ length: steps }), () =>
        Effect.sync(() => {
          order += letter
        }), { discard: true })
    return Effect.all([writer("a"), writer("b")], { concurrency: "unbounded" }).pipe(
      Effect.andThen(Effect.sync(() => orders.add(order)))
    )
  })

const log = (words: Array<string>, word: string) => Effect.sync(() => void words.push(word))

/** The orders of a seed's random schedules. */
const ordersOf = (seed: number) =>
  Effect.gen(function*() {
    const all: Array<string> = []
    const orders = { add: (order: string) => all.push(order) }
    yield* Schedules.random(twoWriters(5, orders), { seed, schedules: 50 })
    return all.join()
  })

/** A counter whose increment reads in one step and writes in another. */
const counter = Effect.suspend(() => {
  let count = 0
  const increment = Effect.flatMap(Effect.sync(() => count), (seen) =>
    Effect.sync(() => {
      count = seen + 1
    }))
  return Effect.all([increment, increment], { concurrency: "unbounded" }).pipe(
    Effect.andThen(Effect.suspend(() => count === 2 ? Effect.void : Effect.fail(`counted ${count}`)))
  )
})

/** Goes wrong only if the second fiber's two steps each come at one place of the first one. */
const deep = Effect.suspend(() => {
  const log: Array<string> = []
  const say = (word: string) => Effect.sync(() => void log.push(word))
  const first = Effect.andThen(say("a"), Effect.andThen(say("b"), say("c")))
  const second = Effect.andThen(say("x"), say("y"))
  return Effect.all([first, second], { concurrency: "unbounded" }).pipe(
    Effect.andThen(Effect.suspend(() => log.join("") === "axbyc" ? Effect.fail("axbyc") : Effect.void))
  )
})

describe("every schedule", () => {
  it.effect("of two fibers is every order of their steps", () =>
    Effect.gen(function*() {
      for (const [steps, expected] of [[1, 2], [2, 6], [3, 20]] as const) {
        const orders = new Set<string>()
        const { complete } = yield* Schedules.explore(twoWriters(steps, orders), {
          deviations: Infinity,
          maxSchedules: 1_000_000
        })
        assert.isTrue(complete)
        assert.strictEqual(orders.size, expected)
      }
    }))

  it.effect("runs once", () =>
    Effect.gen(function*() {
      const orders = new Set<string>()
      const bounded = yield* Schedules.explore(twoWriters(1, orders), { deviations: 100 })
      const unbounded = yield* Schedules.explore(twoWriters(1, orders), { deviations: Infinity })
      assert.isTrue(bounded.complete)
      assert.strictEqual(bounded.schedules, unbounded.schedules)
      assert.strictEqual(bounded.steps, unbounded.steps)
    }))

  it.effect("with at most n deviations is taken, and no other", () =>
    Effect.gen(function*() {
      const shallow = yield* Schedules.explore(deep, { deviations: 2 })
      assert.isTrue(shallow.complete)
      const violation = yield* violationOf(Schedules.explore(deep, { deviations: 3 }))
      assert.strictEqual(violation.path.split(" ").length, 3)
      assert.isAtLeast(violation.schedules, shallow.schedules)
    }))

  it.effect("is cut off at the given number", () =>
    Effect.gen(function*() {
      const { complete, schedules } = yield* Schedules.explore(counter, { deviations: 0 })
      assert.deepStrictEqual({ complete, schedules }, { complete: true, schedules: 1 })
      const cut = yield* Schedules.explore(twoWriters(9, new Set()), { maxSchedules: 7 })
      assert.deepStrictEqual({ complete: cut.complete, schedules: cut.schedules }, { complete: false, schedules: 7 })
    }))

  it.live("lets the event loop run", () =>
    Effect.gen(function*() {
      let turns = 0
      const interval = setInterval(() => turns++, 0)
      yield* Schedules.explore(twoWriters(20, new Set()), { maxSchedules: 5_000 })
      clearInterval(interval)
      assert.isAbove(turns, 0)
    }))
})

describe("a bad end", () => {
  it.effect("is a failure, and its path leads there again", () =>
    Effect.gen(function*() {
      const violation = yield* violationOf(Schedules.explore(counter))
      assert.strictEqual(violation.kind, "failed")
      assert.include(violation.message, "counted 1")
      assert.include(violation.message, `"${violation.path}"`)
      const again = yield* violationOf(Schedules.replay(counter, violation.path))
      assert.strictEqual(again.kind, "failed")
      assert.strictEqual(again.trace, violation.trace)
      assert.include(yield* Schedules.replay(counter, ""), "count")
    }))

  it.effect("is a fiber that waits for ever, by name", () =>
    Effect.gen(function*() {
      const program = Effect.flatMap(Deferred.make<void>(), (never) =>
        Effect.forkDetach(Schedules.named("sleeper")(Deferred.await(never))))
      const violation = yield* violationOf(Schedules.explore(program))
      assert.strictEqual(violation.kind, "waiting")
      assert.include(violation.message, "sleeper (fiber 2)")
    }))

  it.effect("is a promise, which the explorer does not know", () =>
    Effect.gen(function*() {
      const violation = yield* violationOf(Schedules.explore(Effect.promise(() => Promise.resolve(1))))
      assert.strictEqual(violation.kind, "waiting")
      assert.include(violation.message, "promise")
    }))

  it.effect("is a program without an end", () =>
    Effect.gen(function*() {
      for (
        const program of [Effect.forever(Effect.yieldNow), Effect.forever(Effect.void), Effect.forever(Effect.sleep(1))]
      ) {
        assert.strictEqual((yield* violationOf(Schedules.explore(program, { maxSteps: 500 }))).kind, "endless")
      }
    }))

  it.effect("is a defect, of a fiber that nobody looks at as well", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* violationOf(Schedules.explore(Effect.die("dead")))).kind, "defect")
      const violation = yield* violationOf(Schedules.explore(Effect.forkDetach(Effect.die("unseen"))))
      assert.strictEqual(violation.kind, "defect")
      assert.include(violation.message, "unseen")
    }))

  it.effect("is what throws outside of fibers", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const fiber = yield* Effect.forkDetach(Effect.yieldNow)
        fiber.addObserver(() => {
          throw new Error("observed")
        })
      })
      const violation = yield* violationOf(Schedules.explore(program))
      assert.strictEqual(violation.kind, "thrown")
      assert.include(violation.message, "observed")
    }))

  it.effect("is an interruption from within", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* violationOf(Schedules.explore(Effect.interrupt))).kind, "failed")
    }))

  it.effect("is a program that depends on more than its schedule", () =>
    Effect.gen(function*() {
      let runs = 0
      const program = Effect.suspend(() =>
        Effect.all(Array.from({ length: 2 + runs++ % 3 }, () => Effect.yieldNow), { concurrency: "unbounded" })
      )
      const violation = yield* violationOf(Schedules.explore(program))
      assert.strictEqual(violation.kind, "diverged")
    }))
})

it.effect("what is no number of schedules is a TypeError that names it, and not a success", () =>
  Effect.gen(function*() {
    const wrong: ReadonlyArray<readonly [string, Effect.Effect<unknown, Schedules.ScheduleViolation>]> = [
      ["deviations NaN", Schedules.explore(Effect.void, { deviations: Number.NaN })],
      ["deviations -1", Schedules.explore(Effect.void, { deviations: -1 })],
      ["maxSchedules 0", Schedules.explore(Effect.void, { maxSchedules: 0 })],
      ["maxSteps 1.5", Schedules.explore(Effect.void, { maxSteps: 1.5 })],
      ["schedules NaN", Schedules.random(Effect.void, { schedules: Number.NaN })],
      ["deviations 0", Schedules.random(Effect.void, { deviations: 0 })],
      ["seed 0.5", Schedules.random(Effect.void, { seed: 0.5 })],
      ["is no path of a schedule", Schedules.replay(Effect.void, "1:2 1:1")],
      ["is no path of a schedule", Schedules.replay(Effect.void, "here")]
    ]
    for (const [what, exploration] of wrong) {
      const exit = yield* Effect.exit(exploration)
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof TypeError, what)
      assert.include(String(exit), what)
    }
  }))

describe("time", () => {
  it.effect("passes when nothing else goes on, in the order of timers", () =>
    Effect.gen(function*() {
      let usual: ReadonlyArray<number> | undefined
      const program = Effect.gen(function*() {
        const woken: Array<number> = []
        const sleeper = (millis: number) =>
          Effect.gen(function*() {
            yield* Effect.sleep(millis)
            woken.push(millis)
            assert.isAtLeast(yield* Clock.currentTimeMillis, millis)
          })
        yield* Effect.forEach([30, 10, 20], sleeper, { concurrency: "unbounded" })
        usual ??= woken
      })
      yield* Schedules.explore(program, { deviations: 0 })
      assert.deepStrictEqual(usual, [10, 20, 30])
      yield* Schedules.random(program, { schedules: 500 })
    }))

  it.effect("passes earlier as a deviation", () =>
    Effect.gen(function*() {
      const program = Effect.timeoutOrElse(Effect.yieldNow, {
        duration: 10,
        orElse: () => Effect.fail("too late")
      })
      yield* Schedules.explore(program, { deviations: 0 })
      const violation = yield* violationOf(Schedules.explore(program, { deviations: 1 }))
      assert.include(violation.message, "too late")
      assert.include(violation.trace, "time passes: 10 ms")
    }))

  it.effect("does not wake who was interrupted", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const sleeper = yield* Effect.forkChild(Effect.sleep("1 hour"), { startImmediately: true })
        yield* Fiber.interrupt(sleeper)
        assert.isAtMost(yield* Clock.currentTimeMillis, 3_600_000)
        assert.isTrue(Exit.isFailure(yield* Fiber.await(sleeper)) || (yield* Clock.currentTimeMillis) === 3_600_000)
      })
      const { complete } = yield* Schedules.explore(program)
      assert.isTrue(complete)
    }))
})

describe("random schedules", () => {
  it.effect("find what takes several deviations, and shrink it", () =>
    Effect.gen(function*() {
      const violation = yield* violationOf(Schedules.random(deep, { seed: 7, schedules: 10_000 }))
      assert.strictEqual(violation.kind, "failed")
      assert.strictEqual(violation.seed, 7)
      assert.include(violation.message, "seed 7")
      assert.strictEqual(violation.path.split(" ").length, 3)
      assert.include((yield* violationOf(Schedules.replay(deep, violation.path))).message, "axbyc")
    }))

  it.effect("are the same for the same seed", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ordersOf(3), yield* ordersOf(3))
      assert.notStrictEqual(yield* ordersOf(3), yield* ordersOf(4))
    }))

  it.effect("give the program random numbers that do not change", () =>
    Effect.gen(function*() {
      const seen = new Set<number>()
      const program = Effect.tap(EffectRandom.next, (number) => Effect.sync(() => void seen.add(number)))
      yield* Schedules.random(program, { schedules: 10 })
      assert.strictEqual(seen.size, 1)
    }))
})

describe("an intruder", () => {
  it.effect("comes at every step, by one deviation", () =>
    Effect.gen(function*() {
      const orders = new Set<string>()
      const program = Effect.suspend(() => {
        const words: Array<string> = []
        return Schedules.withIntruder(
          Effect.andThen(log(words, "a"), Effect.andThen(log(words, "b"), log(words, "c"))),
          () => Effect.andThen(log(words, "x"), log(words, "y"))
        ).pipe(Effect.andThen(Effect.sync(() => orders.add(words.join("")))))
      })
      yield* Schedules.explore(program, { deviations: 0 })
      assert.deepStrictEqual([...orders], ["abcxy"])
      yield* Schedules.explore(program, { deviations: 1 })
      assert.deepStrictEqual([...orders].sort(), ["abcxy", "abxyc", "axybc", "xyabc"])
      yield* Schedules.explore(program, { deviations: 3 })
      assert.strictEqual(orders.size, 10)
    }))

  it.effect("can interrupt, and wake what waits", () =>
    Effect.gen(function*() {
      const ends = new Set<string>()
      const program = Effect.gen(function*() {
        const gate = yield* Deferred.make<void>()
        const exit = yield* Effect.exit(Schedules.withIntruder(
          Effect.andThen(Effect.yieldNow, Deferred.await(gate)),
          (main) => Effect.andThen(Fiber.interrupt(main), Deferred.succeed(gate, undefined))
        ))
        ends.add(Exit.isSuccess(exit) ? "success" : Cause.hasInterrupts(exit.cause) ? "interrupted" : "failure")
      })
      const { complete } = yield* Schedules.explore(program)
      assert.isTrue(complete)
      assert.deepStrictEqual([...ends], ["interrupted"])
    }))

  it.effect("can interrupt a fiber before it has begun", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.never)
        yield* Fiber.interrupt(fiber)
      })
      assert.isTrue((yield* Schedules.explore(program, { deviations: 4 })).complete)
    }))

  it.live("is an ordinary fiber elsewhere", () =>
    Effect.gen(function*() {
      const words: Array<string> = []
      yield* Schedules.withIntruder(log(words, "a"), () => log(words, "x"))
      assert.deepStrictEqual(words, ["a", "x"])
    }))
})

it.effect("all is quiet when the others have ended or wait, and no timer is left", () =>
  Effect.gen(function*() {
    const program = Effect.gen(function*() {
      const words: Array<string> = []
      const sleeper = Effect.andThen(Effect.sleep(10), log(words, "awake"))
      const gate = yield* Deferred.make<void>()
      yield* Effect.forkDetach(Effect.all([sleeper, sleeper], { concurrency: 2 }))
      yield* Effect.forkDetach(Effect.andThen(Deferred.await(gate), log(words, "let in")))
      yield* Schedules.quiet
      assert.deepStrictEqual(words, ["awake", "awake"])
      yield* Deferred.succeed(gate, undefined)
      yield* Schedules.quiet
      assert.strictEqual(words.length, 3)
    })
    assert.isTrue((yield* Schedules.explore(program)).complete)
  }))

it.effect("a program with a tracer of its own is explored as well", () =>
  Effect.gen(function*() {
    const tracer = Tracer.make({ span: (span) => new Tracer.NativeSpan(span) })
    const orders = new Set<string>()
    yield* Schedules.explore(Effect.withTracer(twoWriters(2, orders), tracer), {
      deviations: Infinity,
      maxSchedules: 1_000_000
    })
    assert.strictEqual(orders.size, 6)
  }))
