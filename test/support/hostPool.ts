/**
 * Pools on the host backend, whose parts a test can close, watch and make fail one by one.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError, OutOfMemory, Reason } from "../../src/domain/GpuError.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import type { QueueDriver } from "../../src/services/device/QueueDriver.ts"

export type HostServices = Host.Services
export type AllocatorLayer = Layer.Layer<Allocator.Allocator, GpuError, DeviceContext | QueueDriver>

export interface OpenOptions {
  readonly host?: Host.HostOptions | undefined
  /** The policy is `SizePolicy.exact` unless named. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
  readonly allocator?: AllocatorLayer | undefined
  /** Between the host and the pool, to put other services in the place of the host's. */
  readonly over?: ((host: Context.Context<HostServices>) => Context.Context<HostServices>) | undefined
}

/** A pool and its device, which the test closes separately. */
export interface OpenPool {
  readonly pool: BufferPool.BufferPool["Service"]
  readonly faults: Host.Faults
  readonly driverObjects: DriverObjects
  readonly context: Context.Context<HostServices | BufferPool.BufferPool>
  readonly closePool: Effect.Effect<void>
  readonly closeHost: Effect.Effect<void>
}

export const open = Effect.fnUntraced(function*(
  options: OpenOptions = {}
): Effect.fn.Return<OpenPool, GpuError> {
  const hostScope = Scope.makeUnsafe()
  const poolScope = Scope.makeUnsafe()
  const opened = yield* Layer.buildWithScope(Layer.fresh(Host.layer(options.host)), hostScope)
  const host = options.over === undefined ? opened : options.over(opened)
  const pools = BufferPool.layerNoDeps({ sizePolicy: SizePolicy.exact, ...options.pool }).pipe(
    Layer.provide(options.allocator ?? Allocator.layerImmediate),
    Layer.provideMerge(Layer.succeedContext(host))
  )
  const context = yield* Layer.buildWithScope(Layer.fresh(pools), poolScope)
  return yield* Effect.provide(
    Effect.gen(function*() {
      return {
        pool: yield* BufferPool.BufferPool,
        faults: (yield* Host.Host).faults,
        driverObjects: (yield* DeviceContext).driverObjects,
        context,
        closePool: Scope.close(poolScope, Exit.void),
        closeHost: Scope.close(hostScope, Exit.void)
      }
    }),
    context
  )
})

/** The same as a layer that closes with the test. */
export const layer = (options: OpenOptions = {}) =>
  BufferPool.layerNoDeps({ sizePolicy: SizePolicy.exact, ...options.pool }).pipe(
    Layer.provide(options.allocator ?? Allocator.layerImmediate),
    Layer.provideMerge(Layer.fresh(Host.layer(options.host)))
  )

/** Records the pool's calls of its allocator, in order. */
export const recorded = (events: Array<string>): AllocatorLayer =>
  decorated((allocator) => ({
    ...allocator,
    allocate: (bytes, options) =>
      Effect.suspend(() => {
        events.push(`allocate ${bytes}`)
        return allocator.allocate(bytes, options)
      }),
    freeUnsafe: (buffer) => {
      events.push(`free ${buffer.size}`)
      return allocator.freeUnsafe(buffer)
    },
    reclaim: Effect.suspend(() => {
      events.push("reclaim")
      return allocator.reclaim
    })
  }))

export const decorated = (
  decorate: (allocator: Allocator.Allocator["Service"]) => Allocator.Allocator["Service"]
): AllocatorLayer =>
  Layer.fresh(Layer.effect(Allocator.Allocator, Effect.map(Allocator.Allocator, decorate))).pipe(
    Layer.provide(Allocator.layerImmediate)
  )

export const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason, A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

export const tagOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason["_tag"], A, R> =>
  Effect.map(reasonOf(effect), (reason) => reason._tag)

export const outOfMemoryOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<OutOfMemory, A, R> =>
  Effect.map(reasonOf(effect), (reason) => {
    assert(reason._tag === "OutOfMemory", reason.message)
    return reason
  })

/** Checks the counters that are named. */
export const hasStats = (expected: Partial<PoolStats>): Effect.Effect<void, never, BufferPool.BufferPool> =>
  Effect.map(BufferPool.stats, (stats) => {
    const named = Object.fromEntries(
      Object.keys(expected).map((name) => [name, stats[name as keyof PoolStats]])
    )
    deepStrictEqual(named, { ...expected })
  })

/** Checks the rules that the counters keep at all times. */
export const isConsistent = (stats: PoolStats, driverObjects: DriverObjects): void => {
  strictEqual(stats.managedBlocks, stats.heldBlocks + stats.activeBlocks)
  strictEqual(stats.managedBlocks, stats.driverAllocations - stats.driverFrees)
  const { buffer = 0, image = 0 } = driverObjects.liveByKind
  strictEqual(buffer + image, stats.managedBlocks)
  assert.isAtLeast(stats.managedBytes, stats.heldBytes + stats.activeBytes)
}

/** Allocates leases of these sizes together and releases them, so that the pool holds their blocks. */
export const hold = (sizes: ReadonlyArray<number>): Effect.Effect<void, GpuError, BufferPool.BufferPool> =>
  Effect.scoped(Effect.forEach(sizes, (size) => BufferPool.allocate(size), { discard: true }))

/** Collects what is logged, as "level message", instead of printing it. */
export const logsTo = (lines: Array<string>): Layer.Layer<never> =>
  Logger.layer([Logger.make(({ logLevel, message }) => {
    lines.push(`${logLevel} ${String(message)}`)
  })])

/**
 * Stops the fiber before its k-th operation until it is resumed: for k = 0, 1, ... something else can happen at every
 * operation.
 */
export class ParkAt extends Scheduler.MixedScheduler {
  /** Whether the k-th operation was reached. */
  reached = false
  #resume: (() => void) | undefined = undefined
  #parkNext = false
  /** How many operations come before it. */
  #left: number

  constructor(k: number) {
    super("async")
    this.#left = k
    this.shouldYield = () => {
      if (this.#left-- !== 0) return false
      this.reached = true
      this.#parkNext = true
      return true
    }
  }

  /** The next task is that of the fiber that yields. */
  override makeDispatcher() {
    const dispatcher = super.makeDispatcher()
    const schedule = dispatcher.scheduleTask.bind(dispatcher)
    dispatcher.scheduleTask = (task, priority) => {
      if (!this.#parkNext) return schedule(task, priority)
      this.#parkNext = false
      this.#resume = task
    }
    return dispatcher
  }

  /** Resumes the fiber for good. */
  resume(): void {
    this.#left = -1
    this.#resume?.()
  }

  /** Resumes the fiber, and stops it once more after so many operations. */
  resumeUntil(k: number): void {
    this.reached = false
    this.#left = k
    this.#resume?.()
  }
}

/** Lets everything that is ready run. */
export const nextTurn = Effect.callback<void>((resume) => {
  const handle = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(handle))
})

export const MiB = 2 ** 20
