import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { nextTurn, ParkAt } from "../support/hostPool.ts"
import {
  hold,
  isConsistent,
  open,
  type OpenOptions,
  type OpenPool,
  r8,
  row,
  type Services
} from "../support/imagePool.ts"

interface Job {
  readonly options?: OpenOptions
  /** Sizes that the pool holds before. */
  readonly held?: ReadonlyArray<number>
  /** Runs in a scope of its own; `outer` is another one, open until the end. */
  readonly run: (outer: Scope.Scope) => Effect.Effect<unknown, GpuError, Services | Scope.Scope>
}

const lease = (size: number) => ImagePool.allocate(row(size), r8)

const jobs: Readonly<Record<string, Job>> = {
  "the first lease of a scope, a hit": { held: [64], run: () => lease(64) },
  "the first lease of a scope, a miss": { run: () => lease(64) },
  "a miss on a slow driver": { options: { slow: true }, run: () => lease(64) },
  "a second lease": { held: [64], run: () => Effect.andThen(lease(64), lease(32)) },
  "use, a hit": { held: [64], run: () => ImagePool.use(row(64), r8, () => Effect.yieldNow) },
  "use on a slow driver": { options: { slow: true }, run: () => ImagePool.use(row(64), r8, () => Effect.yieldNow) },
  "use that transfers its lease": {
    run: (outer) => ImagePool.use(row(64), r8, (image) => Lease.transfer(image, outer))
  },
  "an early release": { run: () => Effect.flatMap(lease(64), Lease.release) },
  "a transfer": { run: (outer) => Effect.flatMap(lease(64), (image) => Lease.transfer(image, outer)) },
  "a hit that is cleared": { options: { pool: { clear: "acquire" } }, held: [64], run: () => lease(64) },
  "the ladder on a slow driver": {
    options: { host: { capacityBytes: 100, lateFree: true }, slow: true },
    held: [30, 40],
    run: () => ImagePool.use(row(75), r8, () => Effect.void)
  },
  "the ladder under a limit": {
    options: { pool: { maxBytes: 100 }, slow: true },
    held: [30, 40],
    run: () => lease(75)
  },
  "freeHeld": { held: [10, 20], run: () => ImagePool.freeHeld },
  "stopHolding": { held: [10, 20], run: () => Effect.andThen(lease(10), ImagePool.stopHolding) }
}

/** What comes upon a job that stands still at one of its steps. */
const events: Readonly<
  Record<string, (fiber: Fiber.Fiber<unknown, unknown>, opened: OpenPool, mine: Scope.Closeable) => Effect.Effect<void>>
> = {
  "its fiber is interrupted": (fiber) => Effect.sync(() => fiber.interruptUnsafe()),
  "its scope closes": (_, __, mine) => Scope.close(mine, Exit.void),
  "its pool closes": (_, { closePool }) => Effect.forkDetach(closePool),
  "its device closes": (_, { closeHost }) => closeHost,
  "its device is lost": (_, { faults }) => Effect.sync(() => faults.lose("unplugged"))
}

/** Whether the job came as far as its k-th step. */
const disturb = (job: Job, k: number, event: (typeof events)[string]) =>
  Effect.gen(function*() {
    const opened = yield* open(job.options)
    yield* hold(opened, job.held ?? [])
    const [outer, mine] = [yield* Scope.make(), yield* Scope.make()]
    const scheduler = new ParkAt(k)
    const fiber = Effect.runFork(
      Scope.provide(job.run(outer), mine).pipe(
        Effect.provide(opened.context),
        Effect.provideService(Scheduler.Scheduler, scheduler)
      )
    )
    for (let turn = 0; turn < 30 && !scheduler.reached && fiber.pollUnsafe() === undefined; turn++) yield* nextTurn
    yield* event(fiber, opened, mine)
    scheduler.resume()
    yield* Fiber.await(fiber)
    yield* Scope.close(mine, Exit.void)
    yield* Scope.close(outer, Exit.void)
    yield* nextTurn
    strictEqual((yield* opened.pool.stats).activeBlocks, 0)
    yield* opened.closePool
    isConsistent(yield* opened.pool.stats, opened)
    yield* opened.closeHost
    strictEqual(opened.driverObjects.live, 0, `step ${k}`)
    return scheduler.reached
  })

for (const [when, event] of Object.entries(events)) {
  describe(`${when} during`, () => {
    it.live.each(Object.entries(jobs))("%s", ([, job]) =>
      Effect.gen(function*() {
        let steps = 0
        while (yield* disturb(job, steps, event)) steps++
        assert.isAbove(steps, 5)
      }))
  })
}
