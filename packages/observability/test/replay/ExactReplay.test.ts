/** Replays that give the machine its recorded inputs, case by case; the laws are in ReplayLaws. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { Host } from "effect-gpu-pool/host"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { isWhole } from "../../../../test/support/explore.ts"
import * as PoolEvents from "../../src/events/PoolEvents.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { exactly } from "./exactly.ts"

const recorder = Recording.layer({ capacity: 200_000 }).pipe(Layer.provideMerge(PoolEvents.layer))

const gpuOf = (pool: BufferPool.BufferPoolOptions, host: Host.HostOptions = {}) =>
  BufferPool.layer({ maxBytes: 1000, deadlockTimeout: Infinity, ...pool }).pipe(Layer.provideMerge(Host.layer(host)))

/** The recording that a program returns. */
const recorded = <E>(
  program: Effect.Effect<
    Recording.Recording,
    E,
    BufferPool.BufferPool | CommandQueue.CommandQueue | Recording.Recorder
  >,
  pool: BufferPool.BufferPoolOptions = {},
  host: Host.HostOptions = {}
) => Effect.provide(Effect.provide(program, gpuOf(pool, host)), recorder)

const waits = { onExhausted: "wait" as const }

describe("an exact replay", () => {
  it.effect("reports requests that fail as its recording ends, before their fibers know of it", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.allocate(800)
        yield* Effect.exit(BufferPool.use(800, () => Effect.void, { label: "too much" }))
        return yield* Recording.snapshot
      })))
      deepStrictEqual(exactly(recording).failed.map(({ label, why }) => [label, why]), [["too much", "OutOfMemory"]])
    }))

  it.effect("knows when requests were made that fail at once", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.gen(function*() {
        yield* Effect.exit(BufferPool.use(2000, () => Effect.void))
        yield* TestClock.adjust(500)
        yield* Effect.exit(BufferPool.use(2000, () => Effect.void))
        return yield* Recording.snapshot
      }))
      deepStrictEqual(exactly(recording).failed.map(({ madeAt, failedAt }) => [madeAt, failedAt]), [[0, 0], [500, 500]])
    }))

  it.effect("tries several leases again that the driver refuses more than once", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const together = Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        const [one, other] = [yield* Scope.make(), yield* Scope.make()]
        yield* Scope.provide(pool.allocate(100), one)
        yield* Scope.provide(pool.allocate(100), other)
        faults.failAllocations({ times: Infinity })
        const both = yield* Effect.forkChild(pool.useAll([300, 300], () => Effect.void, waits), {
          startImmediately: true
        })
        for (const scope of [one, other]) {
          yield* Effect.replicateEffect(Effect.yieldNow, 20, { discard: true })
          yield* Scope.close(scope, Exit.void)
        }
        yield* Effect.replicateEffect(Effect.yieldNow, 20, { discard: true })
        yield* Effect.exit(Fiber.interrupt(both))
        return yield* Recording.snapshot
      })
      const recording = yield* recorded(together, {}, { faults })
      const refused = Array.from(Recording.events(recording)).filter(({ _tag }) => _tag === "Refused")
      assert.isAbove(refused.length, 2)
      exactly(recording)
    }))

  it.effect("goes on with a memory of which more is published after it has closed", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(gpuOf({}), scope)
      const pool = Context.get(context, BufferPool.BufferPool)
      yield* pool.setLimit(700)
      yield* pool.use(10, () => Effect.void)
      yield* Scope.close(scope, Exit.void)
      yield* Effect.exit(pool.setLimit(500))
      exactly(yield* Recording.snapshot)
    }).pipe(Effect.provide(recorder)))

  it.effect("knows of scopes that close, and of interruptions, between the making of a request and its asking", () =>
    Effect.gen(function*() {
      for (const mostSteps of [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
        for (const isInterrupted of [false, true]) {
          const crowd = Effect.gen(function*() {
            const pool = yield* BufferPool.BufferPool
            const scope = yield* Scope.make()
            const asked = Effect.andThen(pool.allocate(600), pool.allocate(300, waits))
            const job = yield* Effect.forkChild(Scope.provide(asked, scope), { startImmediately: true })
            yield* Effect.yieldNow
            if (isInterrupted) yield* Fiber.interrupt(job)
            yield* Scope.close(scope, Exit.void)
            yield* Effect.exit(Fiber.join(job))
            return yield* Recording.snapshot
          })
          exactly(
            yield* Effect.provideService(recorded(crowd, { clear: "acquire" }), Scheduler.MaxOpsBeforeYield, mostSteps)
          )
        }
      }
    }))

  it.effect("knows of a fresh block that could not be cleared", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const lost = Effect.gen(function*() {
        faults.delay({ allocations: 5 })
        const job = yield* Effect.forkChild(BufferPool.use(64, () => Effect.void), { startImmediately: true })
        faults.failCommands({ times: Infinity })
        yield* TestClock.adjust(10)
        yield* Effect.exit(Fiber.join(job))
        return yield* Recording.snapshot
      })
      const recording = yield* recorded(lost, { clear: "acquire" }, { faults })
      deepStrictEqual(recording.blocks, [])
      exactly(recording)
    }))

  it.effect("warns when the machine throws at an input, although the simulation does what was recorded", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        yield* pool.setLimit(700)
        return yield* Recording.snapshot
      }))
      const text = yield* Stream.mkString(Recording.toLines(recording))
      const changed = yield* Recording.fromLines(text.replaceAll(/^(\["Input",.*)\b700\b/gm, "$1-1"))
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ message }) => warnings.push(message))
      const replay = Replay.run(changed).pipe(Effect.provide(Logger.layer([logger])))
      strictEqual((yield* replay).differsAt, undefined)
      assert.include(String(warnings), "replaying its inputs failed")
    }))

  it.effect("names requests by the queue on which they were made, whatever their fibers do then", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const moved = Effect.scoped(Effect.gen(function*() {
        const other = yield* CommandQueue.make({ label: "other" })
        faults.delay({ allocations: 5 })
        const job = yield* Effect.forkChild(
          Effect.andThen(
            CommandQueue.on(Effect.timeoutOption(BufferPool.use(64, () => Effect.void), 1), other),
            Effect.sleep(20)
          ),
          { startImmediately: true }
        )
        yield* TestClock.adjust(30)
        yield* Fiber.join(job)
        return yield* Recording.snapshot
      }))
      const recording = yield* recorded(moved, {}, { faults })
      const kept = Array.from(Recording.events(recording)).flatMap((event) =>
        event._tag === "Kept" ? [event.queue] : []
      )
      deepStrictEqual(kept, ["other"])
      exactly(recording)
    }))

  it.effect("has been done by a replay under another policy too, whose recording can be saved", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const pool = yield* BufferPool.BufferPool
          yield* pool.onOutOfMemory(() => Effect.succeed(false))
          const budget = yield* pool.budget(100, { label: "part" })
          yield* Effect.exit(budget.use(90, () => budget.use(90, () => Effect.void)))
          yield* Effect.exit(pool.use(900, () => pool.use(900, () => Effect.void)))
          const later = yield* pool.budget(50, { label: "later" })
          yield* later.use(20, () => Effect.exit(pool.use(990, () => Effect.void)))
        }))
        return yield* Recording.snapshot
      }))
      exactly(recording)
      const { recording: replayed } = yield* Replay.run(recording, { maxBytes: 950 })
      exactly(replayed)
      const text = yield* Stream.mkString(Recording.toLines(replayed))
      exactly(yield* Recording.fromLines(Stream.make(text)))
    }))

  it.live("is exact on the clock of the machine, in steps in which very many requests go on", () =>
    Effect.gen(function*() {
      const recording = yield* recorded(Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        const holder = yield* Scope.make()
        yield* Scope.provide(pool.allocate(1000), holder)
        const waiting = Array.from(
          { length: isWhole ? 20_000 : 3000 },
          (_, at) => pool.use(1 + at % 10, () => Effect.void, waits)
        )
        const all = yield* Effect.forkChild(Effect.all(waiting.map(Effect.exit), { concurrency: "unbounded" }), {
          startImmediately: true
        })
        yield* pool.setLimit(5)
        yield* Scope.close(holder, Exit.void)
        yield* Fiber.join(all)
        return yield* Recording.snapshot
      }))
      strictEqual(recording.dropped, 0)
      exactly(recording)
    }))
})
