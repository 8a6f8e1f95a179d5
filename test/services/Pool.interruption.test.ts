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
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import * as SubRegion from "../../src/services/buffers/SubRegion.ts"
import * as Images from "../../src/services/images/Images.ts"
import { PooledImage } from "../../src/services/images/PooledImage.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { stepAfter } from "../support/explore.ts"
import { isConsistent, nextTurn, ParkAt } from "../support/hostPool.ts"
import * as Pools from "../support/sizedPools.ts"

type Services = Pools.HostServices | Pools.Sized | Scope.Scope

interface Job {
  /** Not for images. */
  readonly isOfBuffers?: boolean
  /** Not for staging memory, which has one direction. */
  readonly copiesBothWays?: boolean
  readonly options?: Pools.OpenOptions
  /** Sizes of blocks that the pool holds before. */
  readonly held?: ReadonlyArray<number>
  /** Runs in a scope of its own; `outer` is another one, open until the end. */
  readonly run: (outer: Scope.Scope, mine: Scope.Scope) => Effect.Effect<unknown, GpuError, Services>
}

const scarce: Pools.OpenOptions = { host: { capacityBytes: 100, lateFree: true } }

/**
 * The limit has room for others beside the job's leases. The deadlock timeout uses real time here, and a busy machine
 * is slow.
 */
const limited: Pools.OpenOptions = { pool: { maxBytes: 135, onExhausted: "wait", deadlockTimeout: Infinity } }

const patient = { onExhausted: "wait" } as const

/** Another fiber waits for this fiber's memory, and gets it. */
const waitFor = (
  first: number,
  then: Effect.Effect<unknown, GpuError, Services>
): Effect.Effect<unknown, GpuError, Services> =>
  Effect.gen(function*() {
    const lease = yield* Pools.allocate(first)
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
    const cache = yield* Pools.allocate(100)
    yield* Pools.onOutOfMemory(() =>
      Effect.andThen(
        handlerTakes,
        Effect.suspend(() => Lease.isLive(cache) ? Effect.as(Lease.release(cache), true) : Effect.succeed(false))
      )
    )
    return yield* job
  }))

const buffer = (lease: Pools.SizedLease): PooledBuffer => {
  assert(lease instanceof PooledBuffer)
  return lease
}

const jobs: Readonly<Record<string, Job>> = {
  "the first lease of a scope, a hit": { held: [64], run: () => Pools.allocate(64) },
  "the first lease of a scope, a miss": { run: () => Pools.allocate(64) },
  "a miss on a slow driver": { options: { watch: Pools.slow }, run: () => Pools.allocate(64) },
  "a second lease": {
    held: [64],
    run: () => Effect.andThen(Pools.allocate(64), Pools.allocate(32))
  },
  "a zero-byte lease": { isOfBuffers: true, run: () => Pools.allocate(0) },
  "use, a hit": { held: [64], run: () => Pools.use(64, () => Effect.yieldNow) },
  "use, a miss": { run: () => Pools.use(64, () => Effect.yieldNow) },
  "use on a slow driver": { options: { watch: Pools.slow }, run: () => Pools.use(64, () => Effect.void) },
  "use that transfers its lease": {
    run: (outer) => Pools.use(64, (lease) => Lease.transfer(lease, outer))
  },
  "an early release": { run: () => Effect.flatMap(Pools.allocate(64), Lease.release) },
  "a transfer": {
    run: (outer) => Effect.flatMap(Pools.allocate(64), (lease) => Lease.transfer(lease, outer))
  },
  "sub-regions of a lease": {
    isOfBuffers: true,
    held: [64],
    run: (outer) =>
      Effect.gen(function*() {
        const lease = buffer(yield* Pools.allocate(64))
        const region = yield* Scope.provide(SubRegion.make(lease, { offset: 32 }), outer)
        yield* CommandQueue.fill(yield* SubRegion.make(region, { size: 16 }), 7)
        return yield* Lease.release(lease)
      })
  },
  "extract of one of two": {
    held: [64],
    run: () =>
      LeaseHolder.extract(Effect.gen(function*() {
        yield* Pools.allocate(64)
        return { kept: [yield* Pools.allocate(32), yield* Pools.allocate(32)] }
      }))
  },
  "extract within extract on a slow driver": {
    options: { watch: Pools.slow },
    run: () => LeaseHolder.extract(LeaseHolder.extract(Pools.allocate(64)))
  },
  "a hit that is cleared": { options: { pool: { clear: "acquire" } }, held: [64], run: () => Pools.allocate(64) },
  "a miss that is cleared": {
    options: { pool: { clear: "acquire" }, watch: Pools.slow },
    run: () => Pools.use(64, () => Effect.void)
  },
  "the fallback with evictions": { options: scarce, held: [10, 20, 30, 40], run: () => Pools.allocate(75) },
  "the fallback on a slow driver": {
    options: { ...scarce, watch: Pools.slow },
    held: [30, 40],
    run: () => Pools.use(75, () => Effect.void)
  },
  "the fallback under a limit": {
    options: { pool: { maxBytes: 100 }, watch: Pools.slow },
    held: [30, 40],
    run: () => Pools.allocate(75)
  },
  "the fallback's exact size on a slow driver": {
    isOfBuffers: true,
    options: {
      host: { capacityBytes: 100 },
      pool: { sizePolicy: SizePolicy.table([101, 128]) },
      watch: Pools.slow
    },
    run: () => Pools.allocate(75)
  },
  "freeHeld": { held: [10, 20], run: () => Pools.freeHeld },
  "stopHolding": {
    held: [10, 20],
    run: () => Effect.andThen(Pools.allocate(10), Pools.stopHolding)
  },
  "a wait for a release": { options: limited, run: () => waitFor(100, Pools.allocate(100)) },
  "a wait that is served by eviction": {
    options: limited,
    held: [30],
    run: () => waitFor(100, Pools.allocate(110))
  },
  "a wait for a slow driver": {
    options: { ...limited, watch: Pools.slow },
    run: () => waitFor(100, Pools.use(110, () => Effect.yieldNow))
  },
  "a wait while nothing is held": {
    options: { ...limited, host: { lateFree: true } },
    run: () =>
      Effect.andThen(Pools.stopHolding, waitFor(100, Pools.allocate(100))).pipe(
        Effect.ensuring(Pools.resumeHolding)
      )
  },
  "a wait in a budget": {
    options: limited,
    run: () => waitFor(100, Pools.allocate(100)).pipe(Pools.withBudget(100))
  },
  "a wait in nested budgets": {
    options: { ...limited, watch: Pools.slow },
    run: () =>
      Pools.use(10, () =>
        waitFor(
          90,
          Pools.allocate(100).pipe(Pools.withBudget(100), Pools.withBudget(110))
        ).pipe(Pools.withBudget(130)))
  },
  "a wait that the driver refused": {
    options: { host: { capacityBytes: 100, lateFree: true }, pool: patient, watch: Pools.slow },
    run: () => waitFor(40, Pools.allocate(65))
  },
  "several waits that the driver refused": {
    options: { host: { capacityBytes: 100 }, pool: patient },
    run: () =>
      waitFor(
        40,
        Effect.all([Pools.use(65, () => Effect.yieldNow), Pools.use(61, () => Effect.void)], {
          concurrency: "unbounded"
        })
      )
  },
  "a handler that frees": {
    options: { pool: { maxBytes: 135 } },
    run: () => withCache(Pools.allocate(100), Effect.void)
  },
  "a handler that takes its time, and a request that waits for it": {
    options: { ...limited, watch: Pools.slow },
    run: () =>
      withCache(
        Effect.all([Pools.use(60, () => Effect.yieldNow), Pools.use(50, () => Effect.void)], {
          concurrency: "unbounded"
        }),
        nextTurn
      )
  },
  "a wait that may take an hour": {
    options: limited,
    run: () => waitFor(100, Pools.use(100, () => Effect.void, { waitAtMost: "1 hour" }))
  },
  "a wait that may take no time": {
    options: limited,
    run: () =>
      Pools.use(100, () =>
        Effect.catchReason(
          Pools.allocate(100, { waitAtMost: 0 }),
          "GpuError",
          "OutOfMemory",
          () => Effect.void
        ))
  },
  "work on leases": {
    copiesBothWays: true,
    run: () =>
      Effect.gen(function*() {
        const [x, y] = [yield* Pools.allocate(64), yield* Pools.allocate(64)]
        if (x instanceof PooledImage && y instanceof PooledImage) {
          yield* Images.fill(x, 7)
          yield* Images.copy(x, y)
          yield* Lease.release(x)
          return yield* Images.read(y)
        }
        yield* CommandQueue.fill(buffer(x), 7)
        yield* CommandQueue.copy(buffer(x), buffer(y))
        yield* Lease.release(x)
        return yield* CommandQueue.read(buffer(y), Uint32Array)
      })
  }
}

interface Disturbance {
  readonly act: (
    opened: Pools.OpenPool,
    fiber: Fiber.Fiber<unknown, GpuError>,
    mine: Scope.Closeable
  ) => Effect.Effect<unknown, GpuError>
  /** The reasons with which the job may fail then. */
  readonly reasons: ReadonlyArray<string>
  readonly interrupts?: boolean
  /** After it nothing can be leased any more. */
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
  "the device closes": {
    act: ({ closeHost }) => closeHost,
    reasons: ["Released", "DeviceLost"],
    isTheEnd: true
  },
  "another takes and returns what fits beside it": {
    act: ({ context }) =>
      Effect.provide(Effect.andThen(Pools.hold([10, 5]), Pools.use(20, () => Effect.void)), context),
    reasons: []
  },
  "another frees what is held": {
    act: ({ pool }) => pool.freeHeld,
    reasons: []
  }
}

/** Runs the job once more, to check that the pool still works. */
const runsAgain = Effect.fnUntraced(function*(job: Job, { context }: Pools.OpenPool) {
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
const disturbedAt = Effect.fnUntraced(function*(kind: Pools.Kind, job: Job, disturbance: Disturbance, k: number) {
  const opened = yield* Pools.open(kind, job.options)
  yield* Effect.provide(Pools.hold(job.held ?? []), opened.context)
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
  yield* until("the driver answers", () => Effect.runSync(opened.pool.stats).pendingBytes === 0)
  const stats = yield* opened.pool.stats
  isConsistent(stats, opened.driverObjects)
  deepStrictEqual([stats.activeBlocks, stats.activeBytes, stats.waiters, stats.releaseFailures], [0, 0, 0, 0])
  if (disturbance.isTheEnd !== true) yield* runsAgain(job, opened)
  yield* opened.closePool
  isConsistent(yield* opened.pool.stats, opened.driverObjects)
  strictEqual((yield* opened.pool.stats).managedBlocks, 0)
  yield* opened.closeHost
  strictEqual(opened.driverObjects.live, 0)
  return scheduler.reached
})

const jobsOf = (kind: Pools.Kind) =>
  Object.entries(jobs).filter(([, { isOfBuffers, copiesBothWays }]) =>
    kind === "buffers" || (isOfBuffers !== true && (kind === "images" || copiesBothWays !== true))
  )

describe.each(Pools.kinds.flatMap((kind) => Object.keys(disturbances).map((name) => [kind, name] as const)))(
  "in a pool of %s nothing leaks and nothing hangs wherever %s",
  (kind, name) => {
    it.live.each(jobsOf(kind))("during %s", ([_name, job]) =>
      Effect.gen(function*() {
        let k = 0
        while (yield* disturbedAt(kind, job, disturbances[name]!, k)) k = stepAfter(k)
        assert.isAtLeast(k, 2)
        assert.isBelow(k, 1000)
      }))
  }
)

describe.each(Pools.kinds)("in a pool of %s, an interrupted miss", (kind) => {
  const onSlowHost = Pools.layer(kind, { host: { latency: "1 second" }, pool: { maxBytes: 100 } })

  it.effect("keeps the block as held when the driver gives it", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Pools.allocate(60))
      yield* nextTurn
      yield* Fiber.interrupt(fiber)
      yield* Pools.hasStats({ pendingBytes: 60, managedBlocks: 0 })
      yield* TestClock.adjust("1 second")
      yield* Pools.hasStats({
        pendingBytes: 0,
        heldBytes: 60,
        misses: 0,
        hits: 0,
        driverAllocations: 1,
        activeBlocks: 0
      })
      yield* Pools.allocate(60)
      yield* Pools.hasStats({ hits: 1, misses: 0, activeBytes: 60 })
    }).pipe(Effect.scoped, Effect.provide(onSlowHost)))

  it.effect("gives the reserved bytes back when the driver refuses", () =>
    Effect.gen(function*() {
      const pool = yield* Pools.Sized
      const fiber = yield* Effect.forkChild(pool.use(60, () => Effect.void))
      yield* nextTurn
      yield* Fiber.interrupt(fiber)
      const { faults } = yield* Host.Host
      faults.failAllocations({ error: "DriverError" })
      yield* TestClock.adjust("1 second")
      yield* Pools.hasStats({ pendingBytes: 0, managedBlocks: 0, misses: 0, driverAllocations: 0 })
    }).pipe(Effect.provide(onSlowHost)))

  it.effect("gives the block back when the pool holds nothing any more", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Pools.allocate(60))
      yield* nextTurn
      yield* Fiber.interrupt(fiber)
      yield* Pools.stopHolding
      yield* TestClock.adjust("1 second")
      yield* Pools.hasStats({ pendingBytes: 0, managedBlocks: 0, driverAllocations: 1, driverFrees: 1, misses: 0 })
    }).pipe(Effect.scoped, Effect.provide(onSlowHost)))

  it.effect("whose scope closed meanwhile keeps it too, and fails", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const fiber = yield* Effect.forkChild(Scope.provide(Pools.allocate(60), scope))
      yield* nextTurn
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert(error.reason._tag === "Released")
      strictEqual(error.reason.why, "scopeClosed")
      yield* Pools.hasStats({ heldBytes: 60, activeBlocks: 0 })
    }).pipe(Effect.provide(onSlowHost)))
})

it.effect("an interrupted miss of the exact size is freed, and counts as no miss", () =>
  Effect.gen(function*() {
    const { faults } = yield* Host.Host
    faults.failAllocations({ times: 2 })
    const fiber = yield* Effect.forkChild(Pools.allocate(75))
    yield* TestClock.adjust("2 seconds")
    yield* Pools.hasStats({ pendingBytes: 75 })
    yield* Fiber.interrupt(fiber)
    yield* TestClock.adjust("1 second")
    yield* Pools.hasStats({ pendingBytes: 0, managedBlocks: 0, driverAllocations: 1, driverFrees: 1, misses: 0 })
    yield* Pools.hasStats({ peakActiveBlocks: 0, peakActiveBytes: 0, peakManagedBytes: 75 })
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Pools.layer("buffers", { host: { latency: "1 second" }, pool: { sizePolicy: SizePolicy.table([128]) } })
    )
  ))
