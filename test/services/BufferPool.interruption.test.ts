import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { type GpuError, isGpuError } from "../../src/domain/GpuError.ts"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import type * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import {
  decorated,
  hasStats,
  hold,
  type HostServices,
  isConsistent,
  layer,
  nextTurn,
  open,
  type OpenOptions,
  type OpenPool,
  ParkAt
} from "../support/hostPool.ts"

type Services = HostServices | BufferPool.BufferPool | Scope.Scope

interface Job {
  readonly options?: OpenOptions
  /** Sizes that the pool holds before. */
  readonly held?: ReadonlyArray<number>
  /** Runs in a scope of its own; `outer` is another one, open until the end. */
  readonly run: (outer: Scope.Scope, mine: Scope.Scope) => Effect.Effect<unknown, GpuError, Services>
}

/** Answers on a later turn of the event loop, as a driver that has to be awaited. */
const slow = decorated((allocator: Allocator.Allocator["Service"]) => ({
  ...allocator,
  allocate: (bytes, options) => Effect.uninterruptible(Effect.andThen(nextTurn, allocator.allocate(bytes, options)))
}))

const scarce: OpenOptions = { host: { capacityBytes: 100, lateFree: true } }

/** Beside what a job leases there is room for others. */
const limited: OpenOptions = { pool: { maxBytes: 135, onExhausted: "wait" } }

const patient = { onExhausted: "wait" } as const

/** Another fiber waits for what this one has, and gets it. */
const waitFor = (
  first: number,
  then: Effect.Effect<unknown, GpuError, Services>
): Effect.Effect<unknown, GpuError, Services> =>
  Effect.gen(function*() {
    const lease = yield* BufferPool.allocate(first)
    const waiting = yield* Effect.forkChild(then, { startImmediately: true })
    yield* nextTurn
    yield* Lease.release(lease)
    yield* Fiber.join(waiting)
  })

/** Drops the cache when memory has run out. */
const withCache = (
  job: Effect.Effect<unknown, GpuError, Services>,
  handlerTakes: Effect.Effect<void>
): Effect.Effect<unknown, GpuError, Services> =>
  Effect.scoped(Effect.gen(function*() {
    const cache = yield* BufferPool.allocate(100)
    yield* BufferPool.onOutOfMemory(() =>
      Effect.andThen(
        handlerTakes,
        Effect.suspend(() => Lease.isLive(cache) ? Effect.as(Lease.release(cache), true) : Effect.succeed(false))
      )
    )
    return yield* job
  }))

const jobs: Readonly<Record<string, Job>> = {
  "the first lease of a scope, a hit": { held: [64], run: () => BufferPool.allocate(64) },
  "the first lease of a scope, a miss": { run: () => BufferPool.allocate(64) },
  "a miss on a slow driver": { options: { allocator: slow }, run: () => BufferPool.allocate(64) },
  "a second lease": {
    held: [64],
    run: () => Effect.andThen(BufferPool.allocate(64), BufferPool.allocate(32))
  },
  "a zero-byte lease": { run: () => BufferPool.allocate(0) },
  "use, a hit": { held: [64], run: () => BufferPool.use(64, () => Effect.yieldNow) },
  "use, a miss": { run: () => BufferPool.use(64, () => Effect.yieldNow) },
  "use on a slow driver": { options: { allocator: slow }, run: () => BufferPool.use(64, () => Effect.void) },
  "use that transfers its lease": {
    run: (outer) => BufferPool.use(64, (lease) => Lease.transfer(lease, outer))
  },
  "an early release": { run: () => Effect.flatMap(BufferPool.allocate(64), Lease.release) },
  "a transfer": {
    run: (outer) => Effect.flatMap(BufferPool.allocate(64), (lease) => Lease.transfer(lease, outer))
  },
  "sub-regions of a lease": {
    held: [64],
    run: (outer) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(64)
        const region = yield* Scope.provide(SubRegion.make(lease, { offset: 32 }), outer)
        yield* CommandQueue.fill(yield* SubRegion.make(region, { size: 16 }), 7)
        return yield* Lease.release(lease)
      })
  },
  "extract of one of two": {
    held: [64],
    run: () =>
      LeaseHolder.extract(Effect.gen(function*() {
        yield* BufferPool.allocate(64)
        return { kept: [yield* BufferPool.allocate(32), yield* BufferPool.allocate(32)] }
      }))
  },
  "extract within extract on a slow driver": {
    options: { allocator: slow },
    run: () => LeaseHolder.extract(LeaseHolder.extract(BufferPool.allocate(64)))
  },
  "a hit that is cleared": { options: { pool: { clear: "acquire" } }, held: [64], run: () => BufferPool.allocate(64) },
  "a miss that is cleared": {
    options: { pool: { clear: "acquire" }, allocator: slow },
    run: () => BufferPool.use(64, () => Effect.void)
  },
  "the ladder with evictions": { options: scarce, held: [10, 20, 30, 40], run: () => BufferPool.allocate(75) },
  "the ladder on a slow driver": {
    options: { ...scarce, allocator: slow },
    held: [30, 40],
    run: () => BufferPool.use(75, () => Effect.void)
  },
  "the ladder under a limit": {
    options: { pool: { maxBytes: 100 }, allocator: slow },
    held: [30, 40],
    run: () => BufferPool.allocate(75)
  },
  "the ladder's exact size on a slow driver": {
    options: {
      host: { capacityBytes: 100 },
      pool: { sizePolicy: SizePolicy.table([101, 128]) },
      allocator: slow
    },
    run: () => BufferPool.allocate(75)
  },
  "freeHeld": { held: [10, 20], run: () => BufferPool.freeHeld },
  "stopHolding": {
    held: [10, 20],
    run: () => Effect.andThen(BufferPool.allocate(10), BufferPool.stopHolding)
  },
  "a wait for a release": { options: limited, run: () => waitFor(100, BufferPool.allocate(100)) },
  "a wait that is served by eviction": {
    options: limited,
    held: [30],
    run: () => waitFor(100, BufferPool.allocate(110))
  },
  "a wait for a slow driver": {
    options: { ...limited, allocator: slow },
    run: () => waitFor(100, BufferPool.use(110, () => Effect.yieldNow))
  },
  "a wait while nothing is held": {
    options: { ...limited, host: { lateFree: true } },
    run: () =>
      Effect.andThen(BufferPool.stopHolding, waitFor(100, BufferPool.allocate(100))).pipe(
        Effect.ensuring(BufferPool.resumeHolding)
      )
  },
  "a wait in a budget": {
    options: limited,
    run: () => BufferPool.withBudget(waitFor(100, BufferPool.allocate(100)), 100)
  },
  "a wait in nested budgets": {
    options: { ...limited, allocator: slow },
    run: () =>
      BufferPool.use(10, () =>
        waitFor(
          90,
          BufferPool.allocate(100).pipe(BufferPool.withBudget(100), BufferPool.withBudget(110))
        ).pipe(BufferPool.withBudget(130)))
  },
  "a wait that the driver refused": {
    options: { host: { capacityBytes: 100, lateFree: true }, pool: patient, allocator: slow },
    run: () => waitFor(40, BufferPool.allocate(65))
  },
  "several waits that the driver refused": {
    options: { host: { capacityBytes: 100 }, pool: patient },
    run: () =>
      waitFor(
        40,
        Effect.all([BufferPool.use(65, () => Effect.yieldNow), BufferPool.use(61, () => Effect.void)], {
          concurrency: "unbounded"
        })
      )
  },
  "a handler that frees": {
    options: { pool: { maxBytes: 135 } },
    run: () => withCache(BufferPool.allocate(100), Effect.void)
  },
  "a handler that takes its time, and a request that waits for it": {
    options: { ...limited, allocator: slow },
    run: () =>
      withCache(
        Effect.all([BufferPool.use(60, () => Effect.yieldNow), BufferPool.use(50, () => Effect.void)], {
          concurrency: "unbounded"
        }),
        nextTurn
      )
  },
  "a wait that may take an hour": {
    options: limited,
    run: () => waitFor(100, BufferPool.use(100, () => Effect.void, { waitAtMost: "1 hour" }))
  },
  "a wait that may take no time": {
    options: limited,
    run: () =>
      BufferPool.use(100, () =>
        Effect.catchReason(
          BufferPool.allocate(100, { waitAtMost: 0 }),
          "GpuError",
          "OutOfMemory",
          () => Effect.void
        ))
  },
  "work on leases": {
    run: () =>
      Effect.gen(function*() {
        const [x, y] = [yield* BufferPool.allocate(64), yield* BufferPool.allocate(64)]
        yield* CommandQueue.fill(x, 7)
        yield* CommandQueue.copy(x, y)
        yield* Lease.release(x)
        return yield* CommandQueue.read(y, Uint32Array)
      })
  }
}

interface Disturbance {
  readonly act: (
    opened: OpenPool,
    fiber: Fiber.Fiber<unknown, GpuError>,
    mine: Scope.Closeable
  ) => Effect.Effect<unknown, GpuError>
  /** The reasons with which the job may fail then. */
  readonly reasons: ReadonlyArray<string>
  readonly interrupts?: boolean
  /** Nothing can be leased any more. */
  readonly isTheEnd?: boolean
}

const disturbances: Readonly<Record<string, Disturbance>> = {
  "it is interrupted": {
    act: (_, fiber) => Effect.sync(() => fiber.interruptUnsafe()),
    reasons: [],
    interrupts: true
  },
  "its scope closes": { act: (_opened, _fiber, mine) => Scope.close(mine, Exit.void), reasons: ["Released"] },
  "the pool closes": { act: ({ closePool }) => closePool, reasons: ["Released"], isTheEnd: true },
  "the device is lost": {
    act: ({ faults }) => Effect.sync(() => faults.lose()),
    reasons: ["DeviceLost"],
    isTheEnd: true
  },
  "the layers close": {
    act: ({ closeHost, closePool }) => Effect.andThen(closePool, closeHost),
    reasons: ["Released", "DeviceLost"],
    isTheEnd: true
  },
  "another takes and returns what fits beside it": {
    act: ({ context }) => Effect.provide(Effect.andThen(hold([10, 5]), BufferPool.use(20, () => Effect.void)), context),
    reasons: []
  },
  "another frees what is held": {
    act: ({ pool }) => pool.freeHeld,
    reasons: []
  }
}

/** Whatever came between, the pool is as good as new. */
const runsAgain = Effect.fnUntraced(function*(job: Job, { context }: OpenPool) {
  const [mine, outer] = [Scope.makeUnsafe(), Scope.makeUnsafe()]
  yield* Effect.provide(job.run(outer, mine), Context.add(context, Scope.Scope, mine))
  yield* Scope.close(mine, Exit.void)
  yield* Scope.close(outer, Exit.void)
})

const until = Effect.fnUntraced(function*(what: string, condition: () => boolean) {
  for (let turns = 0; !condition(); turns++) {
    assert.isBelow(turns, 1000, what)
    yield* nextTurn
  }
})

const failureIsExpected = (exit: Exit.Exit<unknown, GpuError>, disturbance: Disturbance): void => {
  if (Exit.isSuccess(exit)) return
  if (Cause.hasInterruptsOnly(exit.cause)) return assert.isTrue(disturbance.interrupts, "interrupted by nobody")
  const error = Cause.squash(exit.cause)
  assert(isGpuError(error), String(error))
  assert.include(disturbance.reasons, error.reason._tag, error.message)
}

/** Runs the job with the disturbance before its k-th operation. False when it has no k-th operation. */
const disturbedAt = Effect.fnUntraced(function*(job: Job, disturbance: Disturbance, k: number) {
  const opened = yield* open(job.options)
  yield* Effect.provide(hold(job.held ?? []), opened.context)
  const [mine, outer] = [Scope.makeUnsafe(), Scope.makeUnsafe()]
  const scheduler = new ParkAt(k)
  const context = opened.context.pipe(Context.add(Scope.Scope, mine), Context.add(Scheduler.Scheduler, scheduler))
  const fiber = Effect.runForkWith(context)(job.run(outer, mine))
  yield* until("the job stops or ends", () => scheduler.reached || fiber.pollUnsafe() !== undefined)

  const acting = yield* Effect.forkChild(disturbance.act(opened, fiber, mine), { startImmediately: true })
  yield* nextTurn
  scheduler.resume()
  yield* Fiber.join(acting)
  failureIsExpected(yield* Fiber.await(fiber), disturbance)

  yield* Scope.close(mine, Exit.void)
  yield* Scope.close(outer, Exit.void)
  yield* until("the driver answers", () => Effect.runSync(opened.pool.stats).reservedBytes === 0)
  const stats = yield* opened.pool.stats
  isConsistent(stats, opened.driverObjects)
  deepStrictEqual([stats.activeBlocks, stats.activeBytes, stats.waiters, stats.releaseFailures], [0, 0, 0, 0])
  if (disturbance.isTheEnd !== true) yield* runsAgain(job, opened)
  yield* opened.closePool
  strictEqual(opened.driverObjects.liveByKind["buffer"] ?? 0, 0)
  yield* opened.closeHost
  strictEqual(opened.driverObjects.live, 0)
  return scheduler.reached
})

describe.each(Object.entries(disturbances))("nothing leaks and nothing hangs wherever %s", (_title, disturbance) => {
  it.live.each(Object.entries(jobs))("during %s", ([_name, job]) =>
    Effect.gen(function*() {
      let k = 0
      while (yield* disturbedAt(job, disturbance, k)) k++
      assert.isAtLeast(k, 2)
      assert.isBelow(k, 1000)
    }))
})

describe("an interrupted miss", () => {
  const onSlowHost = layer({ host: { latency: "1 second" }, pool: { maxBytes: 100 } })

  it.effect("keeps the block as held when the driver gives it", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(BufferPool.allocate(60))
      yield* nextTurn
      yield* Fiber.interrupt(fiber)
      yield* hasStats({ reservedBytes: 60, managedBlocks: 0 })
      yield* TestClock.adjust("1 second")
      yield* hasStats({ reservedBytes: 0, heldBytes: 60, misses: 0, hits: 0, driverAllocations: 1, activeBlocks: 0 })
      yield* BufferPool.allocate(60)
      yield* hasStats({ hits: 1, misses: 0, activeBytes: 60 })
    }).pipe(Effect.scoped, Effect.provide(onSlowHost)))

  it.effect("gives the reserved bytes back when the driver refuses", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const fiber = yield* Effect.forkChild(pool.use(60, () => Effect.void))
      yield* nextTurn
      yield* Fiber.interrupt(fiber)
      const { faults } = yield* Host.Host
      faults.failAllocations({ error: "DriverError" })
      yield* TestClock.adjust("1 second")
      yield* hasStats({ reservedBytes: 0, managedBlocks: 0, misses: 0, driverAllocations: 0 })
    }).pipe(Effect.provide(onSlowHost)))

  it.effect("gives the block back when the pool holds nothing any more", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(BufferPool.allocate(60))
      yield* nextTurn
      yield* Fiber.interrupt(fiber)
      yield* BufferPool.stopHolding
      yield* TestClock.adjust("1 second")
      yield* hasStats({ reservedBytes: 0, managedBlocks: 0, driverAllocations: 1, driverFrees: 1, misses: 0 })
    }).pipe(Effect.scoped, Effect.provide(onSlowHost)))

  it.effect("whose scope closed meanwhile keeps it too, and fails", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const fiber = yield* Effect.forkChild(Scope.provide(BufferPool.allocate(60), scope))
      yield* nextTurn
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert(error.reason._tag === "Released")
      strictEqual(error.reason.why, "scopeClosed")
      yield* hasStats({ heldBytes: 60, activeBlocks: 0 })
    }).pipe(Effect.provide(onSlowHost)))

  it.effect("of the exact size is freed, and counts as no miss", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.failAllocations({ times: 2 })
      const fiber = yield* Effect.forkChild(BufferPool.allocate(75))
      yield* TestClock.adjust("2 seconds")
      yield* hasStats({ reservedBytes: 75 })
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 second")
      yield* hasStats({ reservedBytes: 0, managedBlocks: 0, driverAllocations: 1, driverFrees: 1, misses: 0 })
      yield* hasStats({ peakActiveBlocks: 0, peakActiveBytes: 0, peakManagedBytes: 75 })
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { latency: "1 second" }, pool: { sizePolicy: SizePolicy.table([128]) } }))
    ))
})
