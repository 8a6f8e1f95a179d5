/**
 * The buffer pool: scoped leases on device memory that is kept and reused.
 *
 * A hit is synchronous and cheap; a miss asks the allocator. When memory runs short the pool searches, reclaims and
 * evicts before it fails. Each lease is a {@link PooledBuffer} that belongs to the caller's scope.
 *
 * @see pyopencl.tools.MemoryPool, cupy.cuda.MemoryPool
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { type BufferUsage, defaultUsage } from "../../domain/BufferUsage.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { noQueue } from "../../domain/pool/machine/NoQueue.ts"
import {
  BlockOptions,
  type ExhaustedOptions,
  type LeasingSettings,
  leasingSettingsOf,
  type MemorySettings,
  memorySettingsOf,
  SharedBlockOptions,
  SmallBlockOptions
} from "../../domain/pool/PoolOptions.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import { type ConfigOf, layerOfConfig } from "../calls/LayerConfig.ts"
import { toConsole } from "../calls/Warnings.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import type * as Accessors from "../pool/Accessors.ts"
import * as BoundAccessors from "../pool/BoundAccessors.ts"
import type { DeviceMemory } from "../pool/DeviceMemory.ts"
import type { JointRequests } from "../pool/JointRequests.ts"
import { openShared } from "../pool/OpenShared.ts"
import {
  controlsOf,
  makeMemoryWith,
  memoryControlsOf,
  openAlone,
  openRequests,
  openWith,
  type PoolControls,
  shownAsPool
} from "../pool/Pool.ts"
import { notInSmallPools, PoolRequests, type Want } from "../pool/PoolRequests.ts"
import type { PoolRuntime } from "../pool/PoolRuntime.ts"
import * as Allocator from "./Allocator.ts"
import type { BufferLike } from "./BufferLike.ts"
import { BufferSource, type BufferSourceOptions, openSource, policyOf } from "./BufferSource.ts"
import { makeAllocator } from "./DeviceAllocator.ts"
import type { PooledBuffer } from "./PooledBuffer.ts"
import * as SeveralSizes from "./SeveralSizes.ts"
import { SlabSource } from "./SlabSource.ts"

export type { ByteAmount } from "../../domain/pool/MemoryLimit.ts"
export type { BudgetOptions, ExhaustedOptions, PoolLimit, ReserveOptions } from "../../domain/pool/PoolOptions.ts"
export type { ConfigOf } from "../calls/LayerConfig.ts"
export { DefaultStrategy } from "../lease/DefaultStrategy.ts"
export type { OfMemory, OfPool } from "../pool/Accessors.ts"
export type { Need } from "../pool/Handlers.ts"
export type { MemoryControls, PoolControls } from "../pool/Pool.ts"
export type { AllocateOptions } from "./Allocator.ts"
export type { PooledBuffer } from "./PooledBuffer.ts"

/**
 * The options of one request for a buffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolAllocateOptions extends Allocator.AllocateOptions, ExhaustedOptions {
  /**
   * Buffers that kernels will read while they write the new lease, or the other way round. A pool with `PoolStrategy.arena` on WebGPU
   * takes its memory from another slab, if one has room or the limit has room for one more; then no copy is needed before such
   * a dispatch. It has no effect elsewhere.
   */
  readonly apart?: ReadonlyArray<BufferLike> | undefined
}

/**
 * How a pool of buffers behaves. Sizes are bytes, or texts as `"512 MiB"`, or shares of the device's memory as `"50%"` where
 * the backend reports it: see `BufferPool.ByteAmount`.
 *
 * **Example** (A patient pool that gives idle memory back)
 *
 * ```ts
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const pool = BufferPool.layer({
 *   maxBytes: "512 MiB",
 *   onExhausted: "wait",
 *   idleTimeToLive: "30 seconds",
 *   idleKeepBytes: "64 MiB"
 * })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferPoolOptions extends Schema.Schema.Type<typeof BlockOptions> {}

/**
 * Byte counts of several leases that a program asks for together: an array, or a record by name.
 *
 * **Example** (The same request in both forms)
 *
 * ```ts
 * import type { BufferPool } from "effect-gpu-pool"
 *
 * const pair: BufferPool.Sizes = [4096, 1024]
 * const named: BufferPool.Sizes = { input: 4096, output: 1024 }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Sizes = ReadonlyArray<number> | Readonly<Record<string, number>>

/**
 * A lease for each size, in the shape of the sizes.
 *
 * @category models
 * @since 0.1.0
 */
export type Leases<S extends Sizes> = { readonly [K in keyof S]: PooledBuffer }

/**
 * The options of a request for several buffers together: those of each of them, and labels.
 *
 * **Example** (A label for each lease)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   yield* BufferPool.allocateAll({ input: 4096, output: 1024 }, { labels: { input: "frame", output: "histogram" } })
 *   yield* BufferPool.allocateAll([512, 256, 128], { label: "scratch", labels: [undefined, "sums"] })
 *   return (yield* BufferPool.holders(5)).map(({ label }) => label)
 * }) // => ["frame", "histogram", "scratch", "sums", "scratch"]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface AllocateAllOptions<S extends Sizes> extends PoolAllocateOptions {
  /**
   * What errors, `holders` and recordings call each of the leases: an array for an array of sizes, a record for a record. Other leases
   * get `label`.
   */
  readonly labels?: Labels<S> | undefined
}

/**
 * A label for each size, or for some of them, in the shape of the sizes.
 *
 * @category models
 * @since 0.1.0
 */
export type Labels<S extends Sizes> = { readonly [K in keyof S]?: string | undefined }

/**
 * The methods of a pool, and of a budget or a reservation within one: see {@link withBudget} and {@link reserve}.
 *
 * **Example** (A function that works on any pool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const reserve = (pool: BufferPool.Pool, sizes: ReadonlyArray<number>) =>
 *   Effect.scoped(Effect.forEach(sizes, (size) => pool.allocate(size), { discard: true }))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Pool extends PoolControls<Pool> {
  /** A lease of `size` bytes until the caller's scope closes. See {@link allocate}. */
  readonly allocate: (
    size: number,
    options?: PoolAllocateOptions
  ) => Effect.Effect<PooledBuffer, GpuError, Scope.Scope>
  /** Lends a lease of `size` bytes to `f`, without a scope. See {@link use}. */
  readonly use: <A, E, R>(
    size: number,
    f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
    options?: PoolAllocateOptions
  ) => Effect.Effect<A, E | GpuError, R>
  /** Leases of all sizes together, or none. See {@link allocateAll}. */
  readonly allocateAll: <const S extends Sizes>(
    sizes: S,
    options?: AllocateAllOptions<NoInfer<S>>
  ) => Effect.Effect<Leases<S>, GpuError, Scope.Scope>
  /** Lends leases of all sizes together to `f`. See {@link useAll}. */
  readonly useAll: <const S extends Sizes, A, E, R>(
    sizes: S,
    f: (leases: Leases<S>) => Effect.Effect<A, E, R>,
    options?: AllocateAllOptions<NoInfer<S>>
  ) => Effect.Effect<A, E | GpuError, R>
}

/**
 * The service.
 *
 * **Example** (Looking the service up once for many leases)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const rows = Effect.gen(function*() {
 *   const pool = yield* BufferPool.BufferPool
 *   return yield* Effect.forEach([256, 512, 1024], (bytes) => pool.allocate(bytes))
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class BufferPool extends Context.Service<BufferPool, Pool>()("effect-gpu-pool/BufferPool") {}

/**
 * Builds a pool over the Allocator in context. It closes with the scope: leases that are still live become Released,
 * requests that wait fail, and every block goes back. Fails with InvalidRequest for invalid options, and with
 * Unsupported for a share of the memory of a device that does not report it.
 *
 * **Example** (A second pool, for one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const pool = yield* BufferPool.make({ maxBytes: 1 << 20, label: "job" })
 *   const lease = yield* pool.allocate(1000)
 *   return lease.capacity
 * }).pipe(Effect.provide(Allocator.layerImmediate)) // => 1024
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: BufferPoolOptions = {}
): Effect.Effect<
  Pool,
  GpuError,
  Scope.Scope | Allocator.Allocator | DeviceContext | QueueDriver
> => openAlone("BufferPool.layer", options, BlockOptions, policyOf, openPool)

type Settings = LeasingSettings & Pick<BufferSourceOptions, "sizePolicy">

/** `maxBytes` is the pool's own limit where it shares its memory with other pools. */
const openPool = (memory: PoolRuntime, settings: Settings, maxBytes: number | undefined) =>
  Effect.gen(function*() {
    const source = yield* openSource(SlabSource, memory, settings)
    const { immediate } = yield* Allocator.Allocator
    if (!immediate) {
      yield* memory.warn(
        "The buffer pool's allocator is deferred: a buffer may fail at its first use, where the pool cannot react. " +
          "Provide Allocator.layerImmediate, or use BufferPool.layer."
      )
    }
    return poolOf(yield* openRequests(memory, source, settings, maxBytes))
  })

type BufferRequests = JointRequests<BufferUsage, DeviceBuffer, PooledBuffer>

/** The pool itself, a budget or a reservation within it. */
const poolOf = (requests: BufferRequests): Pool =>
  shownAsPool(
    requests,
    BufferPool.of({
      ...controlsOf(requests, poolOf),
      ...leasingOf(requests),
      allocateAll: function allocateAll(sizes, given) {
        const options = CallSite.locate(given, allocateAll)
        return together(sizes, options, (wants, shape) => Effect.map(requests.allocateAll(wants, options), shape))
      },
      useAll: function useAll(sizes, f, given) {
        const options = CallSite.locate(given, useAll)
        return together(sizes, options, (wants, shape) => requests.useAll(wants, (leases) => f(shape(leases)), options))
      }
    })
  )

const usageOf = (options: PoolAllocateOptions | undefined): BufferUsage => options?.usage ?? defaultUsage

/** The members that lease one buffer at a time. */
const leasingOf = (
  requests: PoolRequests<BufferUsage, DeviceBuffer, PooledBuffer>
): Pick<Pool, "allocate" | "use"> => ({
  allocate: function allocate(size, given) {
    const options = CallSite.locate(given, allocate)
    return requests.allocate(size, usageOf(options), options)
  },
  use: function use(size, f, given) {
    const options = CallSite.locate(given, use)
    return requests.use(size, usageOf(options), f, options)
  }
})

/** Calls `f` with the requests in order, and the way back from leases in that order to the shape that the program gave. */
const together = <S extends Sizes, A, E, R>(
  sizes: S,
  options: AllocateAllOptions<S> | undefined,
  f: (
    wants: ReadonlyArray<Want<BufferUsage>>,
    shape: (leases: ReadonlyArray<PooledBuffer>) => Leases<S>
  ) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
    const wanted = usageOf(options)
    return SeveralSizes.read(
      sizes,
      options?.labels,
      (wants, inShape) =>
        f(wants.map((want) => ({ ...want, wanted })), inShape as (leases: ReadonlyArray<PooledBuffer>) => Leases<S>)
    )
  })

/**
 * A pool over whatever Allocator is in context, such as a decorated or a deferred one.
 * Building it fails with InvalidRequest for invalid options.
 *
 * **Example** (A pool over the deferred allocator)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const gpu = BufferPool.layerNoDeps({ maxBytes: 1 << 30 }).pipe(
 *   Layer.provide(Allocator.layerDeferred),
 *   Layer.provideMerge(Host.layer())
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNoDeps = (
  options?: BufferPoolOptions
): Layer.Layer<BufferPool, GpuError, Allocator.Allocator | DeviceContext | QueueDriver> =>
  Layer.effect(BufferPool, make(options))

/**
 * A pool over the immediate allocator of the backend in context.
 *
 * **Example** (A pool of at most 256 MiB)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, CommandQueue, SizePolicy } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const Gpu = BufferPool.layer({
 *   maxBytes: 256 * 1024 * 1024,
 *   sizePolicy: SizePolicy.sizeClasses(4, { borrow: 1 })
 * }).pipe(Layer.provideMerge(Host.layer()))
 *
 * const program = Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(4096)
 *   yield* CommandQueue.write(x, new Float32Array(1024).fill(2))
 *   return (yield* CommandQueue.read(x, Float32Array))[0]
 * }).pipe(Effect.scoped, Effect.provide(Gpu))
 *
 * await Effect.runPromise(program) // => 2
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options?: BufferPoolOptions
): Layer.Layer<BufferPool, GpuError, DeviceContext | QueueDriver> =>
  Layer.provide(layerNoDeps(options), Allocator.layerImmediate)

/**
 * How a small pool behaves: some of the options of other pools, with the same meanings. See {@link layerSmall}.
 *
 * @category models
 * @since 0.1.0
 */
export interface SmallPoolOptions extends Schema.Schema.Type<typeof SmallBlockOptions> {}

/**
 * A pool in little code, for pages, on the device in context: it keeps and reuses memory within its limit by the rules of {@link layer}, and
 * a request that does not fit fails at once. A warning, as of a block that the driver could not free, goes to the console, where other
 * pools log it.
 *
 * What other pools do besides fails with Unsupported: requests that wait, budgets, reservations, several leases together, and handlers. Where
 * a program imports modules (`effect-gpu-pool/BufferPool`), none of that is in its bundle. Since no request waits, `exclusively` runs an effect
 * at once. Fails with InvalidRequest for invalid options.
 *
 * **Example** (The memory of a page)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { WebGpuMemory } from "effect-gpu-pool/webgpu"
 *
 * const gpu = BufferPool.layerSmall({ maxBytes: "256 MiB" }).pipe(Layer.provideMerge(WebGpuMemory.layer()))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSmall = (
  options: SmallPoolOptions = {}
): Layer.Layer<BufferPool, GpuError, DeviceContext | QueueDriver> =>
  Layer.effect(
    BufferPool,
    openWith((device) => {
      const operation = "BufferPool.layerSmall"
      const given = valid(LayerOptions.read(operation, SmallBlockOptions, options))
      const memory = valid(memorySettingsOf(operation, "pool", given, device))
      return { ...policyOf(given), ...memory, ...leasingSettingsOf(given) }
    }, openSmall)
  ).pipe(Layer.provide(Layer.effect(Allocator.Allocator, makeAllocator(true, toConsole))))

const leftOut = (name: string) => () => notInSmallPools(`BufferPool.${name}`, "this function")

const openSmall = (settings: Settings & MemorySettings) =>
  Effect.gen(function*() {
    const memory = yield* makeMemoryWith(settings, { warn: toConsole, queue: noQueue })
    const source = yield* openSource(BufferSource, memory, settings)
    memory.add(source)
    const { label, waitPolicy } = settings
    const requests = new PoolRequests(memory, source, { from: undefined, waitPolicy, label }, undefined)
    return shownAsPool(
      requests,
      BufferPool.of({
        ...memoryControlsOf(source.service, memory, undefined),
        ...leasingOf(requests),
        allocateAll: leftOut("allocateAll"),
        useAll: leftOut("useAll"),
        reserve: leftOut("reserve"),
        exclusively: (effect) => effect,
        budget: (_limit, _options, called = "budget") => leftOut(called)(),
        onOutOfMemory: leftOut("onOutOfMemory")
      })
    )
  })

/**
 * How a pool of buffers on a shared `DeviceMemory` behaves: options for the blocks themselves belong to the memory.
 *
 * **Example** (Never more than half of the memory for buffers)
 *
 * ```ts
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const pool = BufferPool.layerShared({ maxBytes: "256 MiB", onExhausted: "wait" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SharedBufferPoolOptions extends Schema.Schema.Type<typeof SharedBlockOptions> {}

/**
 * A pool on the memory that it shares with other pools, of buffers or of images: see `DeviceMemory`. It takes its blocks
 * from the immediate allocator of the backend in context. Fails as {@link layer}.
 *
 * **Example** (Buffers and images under one limit)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, DeviceMemory } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const Gpu = Layer.merge(BufferPool.layerShared(), ImagePool.layerShared()).pipe(
 *   Layer.provideMerge(DeviceMemory.layer({ maxBytes: "64 MiB" })),
 *   Layer.provideMerge(Host.layer())
 * )
 * await Effect.runPromise(DeviceMemory.maxBytes.pipe(Effect.provide(Gpu))) // => 67108864
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerShared = (
  options: SharedBufferPoolOptions = {}
): Layer.Layer<BufferPool, GpuError, DeviceMemory | DeviceContext | QueueDriver> =>
  Layer.effect(
    BufferPool,
    openShared("BufferPool.layerShared", options, SharedBlockOptions, policyOf, openPool)
  ).pipe(Layer.provide(Allocator.layerImmediate))

/**
 * The options of {@link layerConfig}: one configuration for all, or a configuration or a value for each.
 *
 * @category models
 * @since 0.1.0
 */
export type BufferPoolConfig = ConfigOf<BufferPoolOptions>

/**
 * The same as {@link layer}, with options that come from configuration, whole or one by one.
 *
 * **Example** (The limit from the environment)
 *
 * ```ts
 * import { Config, ConfigProvider, Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const Gpu = BufferPool.layerConfig({ maxBytes: Config.String("GPU_POOL_LIMIT"), onExhausted: "wait" }).pipe(
 *   Layer.provideMerge(Host.layer({ capacityBytes: 1 << 30 })),
 *   Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { GPU_POOL_LIMIT: "50%" } })))
 * )
 * await Effect.runPromise(BufferPool.maxBytes.pipe(Effect.provide(Gpu))) // => 536870912
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: BufferPoolConfig
): Layer.Layer<BufferPool, GpuError | Config.ConfigError, DeviceContext | QueueDriver> =>
  layerOfConfig("BufferPool.layerConfig", config, BlockOptions, layer)

/**
 * A lease of `size` bytes until the caller's scope closes. A size of 0 gives a legal lease that takes no device memory.
 *
 * Fails with InvalidRequest (a size that is negative, fractional, NaN or above 2^53 - 1; an impossible usage),
 * LimitExceeded (over `maxBytes`, the device's largest buffer or its memory), OutOfMemory (after the whole fallback; see
 * `isRetryable`), Released (the scope or the pool is closed), DeviceLost or DriverError.
 *
 * **Example** (Retrying while others hold the memory)
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const patient = BufferPool.allocate(1 << 20, { label: "frame" }).pipe(
 *   Effect.retry({ while: (error) => error.isRetryable, schedule: Schedule.spaced("5 millis") })
 * )
 * ```
 *
 * @see pyopencl.tools.MemoryPool.allocate
 * @category accessors
 * @since 0.1.0
 */
export const allocate = (
  size: number,
  options?: PoolAllocateOptions
): Effect.Effect<PooledBuffer, GpuError, BufferPool | Scope.Scope> => {
  const located = CallSite.locate(options, allocate)
  return BufferPool.use((pool) => pool.allocate(size, located))
}

/**
 * Lends a lease of `size` bytes to `f` and takes it back when `f` ends: by success, failure or interruption. Cheaper
 * than a scope of its own around {@link allocate}.
 *
 * **Example** (Scratch memory for one step)
 *
 * ```ts
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const step = BufferPool.use(1024, (scratch) => CommandQueue.fill(scratch, 0))
 * ```
 *
 * **Gotchas**
 *
 * `BufferPool.BufferPool.use(f)` is that of every service of Effect: it hands the pool itself to `f`.
 *
 * @category accessors
 * @since 0.1.0
 */
export const use = <A, E, R>(
  size: number,
  f: (lease: PooledBuffer) => Effect.Effect<A, E, R>,
  options?: PoolAllocateOptions
): Effect.Effect<A, E | GpuError, R | BufferPool> => {
  const located = CallSite.locate(options, use)
  return BufferPool.use((pool) => pool.use(size, f, located))
}

/**
 * The pool's counters now.
 *
 * **Example** (Watching reuse)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const report = Effect.map(BufferPool.stats, (s) => `${s.hits} hits, ${s.misses} misses, ${s.heldBytes} B held`)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stats: Accessors.OfPool<BufferPool, Pool>["stats"] = BoundAccessors.stats(BufferPool)

/**
 * Frees all held blocks, and waits until the driver has their memory. Active leases stay. Fails with DeviceLost or
 * DriverError when the wait fails. A block that the driver fails to free does not fail the call:
 * `stats.releaseFailures` counts it.
 *
 * **Example** (Giving memory back between two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * Effect.scoped(BufferPool.allocate(4096)).pipe(
 *   Effect.andThen(BufferPool.freeHeld),
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map((stats) => stats.heldBytes)
 * ) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.free_held
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Accessors.OfPool<BufferPool, Pool>["freeHeld"] = BoundAccessors.freeHeld(BufferPool)

/**
 * Frees the held blocks that a queue of the device used last, and waits until the driver has their memory; blocks that
 * no queue has used count for the first queue. On a device with one queue these are all held blocks. Errors as {@link
 * freeHeld}, and InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (Giving back what a job on its own queue has left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const alone = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.flatMap(CommandQueue.make(), (queue) =>
 *     Effect.ensuring(CommandQueue.on(job, queue), Effect.ignore(BufferPool.freeHeldOf(queue))))
 * ```
 *
 * @see cupy.cuda.MemoryPool.free_all_blocks, with a stream
 * @category accessors
 * @since 0.1.0
 */
export const freeHeldOf: Accessors.OfPool<BufferPool, Pool>["freeHeldOf"] = BoundAccessors.freeHeldOf(BufferPool)

/**
 * The pool's counters for one queue of its device: held blocks, and how many leases of the queue had to wait for
 * another queue. Fails with InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (How often a queue waits for the others)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const waits = Effect.map(Effect.flatMap(CommandQueue.CommandQueue, BufferPool.statsOf), ({ waits }) => waits)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const statsOf: Accessors.OfPool<BufferPool, Pool>["statsOf"] = BoundAccessors.statsOf(BufferPool)

/**
 * Frees all held blocks, and from now on every block when its lease ends. Errors as {@link freeHeld}.
 *
 * **Example** (A pool that keeps nothing any more)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * BufferPool.stopHolding.pipe(
 *   Effect.andThen(Effect.scoped(BufferPool.allocate(4096))),
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map((stats) => stats.heldBytes)
 * ) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.stop_holding
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Accessors.OfPool<BufferPool, Pool>["stopHolding"] = BoundAccessors.stopHolding(BufferPool)

/**
 * From now on released blocks are kept for reuse again, after {@link stopHolding}. A pool whose device is lost keeps no
 * blocks any more.
 *
 * **Example** (Keeping nothing during one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const lean = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.acquireUseRelease(BufferPool.stopHolding, () => job, () => BufferPool.resumeHolding)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const resumeHolding: Accessors.OfPool<BufferPool, Pool>["resumeHolding"] = BoundAccessors.resumeHolding(
  BufferPool
)

/**
 * Frees held blocks until no more than `bytes` (or "512 MiB", or "50%") are managed, active ones included, or nothing
 * is held; waits until the driver has them. It frees them in the order of the pool's `eviction`, and overshoots by less
 * than one block. Errors as {@link freeHeld}, and InvalidRequest for an invalid size.
 *
 * **Example** (Making room for somebody else)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   yield* Effect.scoped(Effect.forEach([1024, 2048, 4096], (size) => BufferPool.allocate(size)))
 *   yield* BufferPool.trimTo(6000)
 *   return (yield* BufferPool.stats).heldBytes
 * }) // => 5120
 * ```
 *
 * @see cudaMemPoolTrimTo
 * @category accessors
 * @since 0.1.0
 */
export const trimTo: Accessors.OfPool<BufferPool, Pool>["trimTo"] = BoundAccessors.trimTo(BufferPool)

/**
 * Changes the limit of the running pool, or under a budget that of the budget, to bytes, a size or a share of the
 * device's memory; `Infinity` is no limit, and 0 is one of no bytes. A lower limit frees held blocks, and leases stay:
 * until enough of them have ended, the pool frees released blocks and leases no other block. Waiting requests that can
 * never fit any more fail with LimitExceeded. A higher limit serves those that fit now. `{}` is the device's default.
 *
 * Fails with InvalidRequest for an invalid limit, Unsupported for a share of memory that the device does not report,
 * and as {@link freeHeld}.
 *
 * **Example** (Leaving memory to a game that starts)
 *
 * ```ts
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const background = BufferPool.setLimit("128 MiB")
 * const foreground = BufferPool.setLimit({ maxFraction: 0.8 })
 * const alone = BufferPool.setLimit(Infinity)
 * ```
 *
 * @see cupy.cuda.MemoryPool.set_limit
 * @category accessors
 * @since 0.1.0
 */
export const setLimit: Accessors.OfPool<BufferPool, Pool>["setLimit"] = BoundAccessors.setLimit(BufferPool)

/**
 * The limit of the pool or budget now, in bytes; `Infinity` without one.
 *
 * **Example** (Asking for a tenth of the limit)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const tenth = Effect.flatMap(BufferPool.maxBytes, (limit) => BufferPool.allocate(Math.floor(limit / 10)))
 * ```
 *
 * @see cupy.cuda.MemoryPool.get_limit
 * @category accessors
 * @since 0.1.0
 */
export const maxBytes: Accessors.OfPool<BufferPool, Pool>["maxBytes"] = BoundAccessors.maxBytes(BufferPool)

/**
 * The largest live leases with their labels and ages (in leases granted since), largest first: three by default. An
 * OutOfMemory error lists the same leases.
 *
 * **Example** (Saying who holds the memory when a wait takes too long)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const frame = BufferPool.allocate(1 << 24, { onExhausted: "wait" }).pipe(
 *   Effect.timeoutOrElse({
 *     duration: "1 second",
 *     orElse: () => Effect.flatMap(BufferPool.holders(5), (holders) => Effect.fail({ _tag: "TooLate", holders } as const))
 *   })
 * )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const holders: Accessors.OfPool<BufferPool, Pool>["holders"] = BoundAccessors.holders(BufferPool)

/**
 * Registers a handler until the scope closes: an effect that frees memory when it has run out, as by dropping a cache
 * or moving buffers to the host. The pool asks handlers one at a time, in the order of their registration, after
 * eviction did not help and before a request waits or fails. A handler that answers `true` has freed something, and the
 * request tries again. After `false`, or when the handler freed only memory that it had taken itself, the pool asks the
 * next handler. When a handler fails or dies, so does the request. Whatever ends the request interrupts the handler:
 * put steps that belong together into `Effect.uninterruptible`.
 *
 * Under a budget the handler runs when that budget is exhausted.
 *
 * A request that a handler itself makes asks no handlers and does not wait.
 *
 * **Example** (A cache that gives way)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, Lease } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.gen(function*() {
 *   const cache = yield* Effect.forEach([1024, 1024, 1024], (size) => BufferPool.allocate(size))
 *   yield* BufferPool.onOutOfMemory(() => {
 *     const oldest = cache.shift()
 *     return oldest === undefined ? Effect.succeed(false) : Effect.as(Lease.release(oldest), true)
 *   })
 *   yield* BufferPool.allocate(2048)
 *   return cache.length
 * }).pipe(Effect.scoped, Effect.provide(BufferPool.layer({ maxBytes: 3072 })), Effect.provide(Host.layer()))
 * await Effect.runPromise(program) // => 1
 * ```
 *
 * @see rmm.mr.FailureCallbackResourceAdaptor
 * @category resource management
 * @since 0.1.0
 */
export const onOutOfMemory: Accessors.OfPool<BufferPool, Pool>["onOutOfMemory"] = BoundAccessors.onOutOfMemory(
  BufferPool
)

/**
 * A pool on the same memory that leases at most `limit` bytes at a time, as a value: for programs that make one for
 * each tenant. Details and errors as {@link withBudget}.
 *
 * **Example** (A budget for each tenant)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const tenants = Effect.forEach(["a", "b"], (label) => BufferPool.budget("64 MiB", { label }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const budget: Accessors.OfPool<BufferPool, Pool>["budget"] = BoundAccessors.budget(BufferPool)

/**
 * Runs an effect with a pool that leases at most `limit` bytes (or "64 MiB", or "25%") at a time, on the memory of the
 * pool around it.
 *
 * **Details**
 *
 * Up to 256 budgets may be within each other; effects outside of them pay nothing for them.
 *
 * A budget counts the capacity of active leases and of requests under way, not of held blocks. A lease is charged to
 * its budget until it ends, also when it was transferred. A request over the budget fails with LimitExceeded if it can
 * never fit; else it waits or fails as the options say, or as the pool does. Requests wait for a budget in the budget's
 * own wait queue, so they do not stop others from using the pool. `stats`, `setLimit`, `maxBytes`, `holders` and
 * `onOutOfMemory` under it concern the budget; `freeHeld`, `trimTo`, `stopHolding` and `resumeHolding` the pool.
 *
 * **Gotchas**
 *
 * Programs that each have a lease and wait for another one can fill a budget and wait for each other, until the pool
 * fails one of them. Let them {@link reserve} what they need, or ask for all leases at once with {@link allocateAll}.
 *
 * Fails with InvalidRequest for an invalid limit and for a budget within 256 others, and with Unsupported for a share
 * of memory that the device does not report.
 *
 * **Example** (A tenant with a share of its own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const greedy = Effect.scoped(Effect.forEach([1024, 1024, 1024], (size) => BufferPool.allocate(size)))
 * greedy.pipe(
 *   BufferPool.withBudget(2048),
 *   Effect.catchReason("GpuError", "OutOfMemory", ({ limitName, limit }) => Effect.succeed([limitName, limit]))
 * ) // => ["budget", 2048]
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const withBudget: Accessors.OfPool<BufferPool, Pool>["withBudget"] = BoundAccessors.withBudget(BufferPool)

/**
 * Waits until `bytes` (or "64 MiB", or "25%") are free, reserves them for an effect, and then runs it. As long as the
 * effect's requests together stay within these bytes, they bypass every wait queue. Bytes that its leases release are
 * reserved for it again, until the effect ends. Leases that outlive it stay.
 *
 * A program that has one lease and waits for another can wait for a program that does the same. With a reservation it
 * waits only before it has any lease: programs whose reservations each fit the limit all end.
 *
 * **Details**
 *
 * - It waits in the pool's wait queue, and in those of the budgets around it, unless `onExhausted` is `"fail"`.
 *   `waitAtMost` bounds that time: the request then fails with OutOfMemory, so a server can reject it.
 * - Bytes are counted as requested, each size rounded up to the device's granularity (4 on WebGPU). A larger block is
 *   taken only from bytes that are not reserved.
 * - A request beyond what is left takes the rest of the reservation and asks the pool for the difference, as any other
 *   request: it may wait.
 * - It nests: a reservation within a reservation draws from the outer one first; within a budget all of it is charged
 * to the budget.
 * - Where pools share a `DeviceMemory`, the effect's images and staging memory draw from it too. Their pools' own
 *   limits hold besides.
 * - It reserves bytes of the limit, not blocks: held blocks are evicted when the bytes are requested. Where the driver
 *   has less memory than the limit says, or a pool has no limit on a device that does not report its memory (WebGPU),
 *   nothing is certain: give the pool `maxBytes`.
 *
 * Fails with InvalidRequest for an invalid size, LimitExceeded for more than the limit of the pool or of a budget,
 * OutOfMemory, Released, DeviceLost.
 *
 * **Example** (Sixteen jobs that each need two buffers at the same time, in room for two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const job = Effect.gen(function*() {
 *   yield* BufferPool.allocate(1024)
 *   yield* Effect.yieldNow
 *   yield* BufferPool.allocate(1024)
 * }).pipe(Effect.scoped, BufferPool.reserve(2048))
 *
 * Effect.replicateEffect(job, 16, { concurrency: "unbounded" }).pipe(
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map(({ activeBlocks, reservedBytes, waiters }) => [activeBlocks, reservedBytes, waiters]),
 *   Effect.provide(BufferPool.layer({ maxBytes: 4096, onExhausted: "wait" }))
 * ) // => [0, 0, 0]
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const reserve: Accessors.OfPool<BufferPool, Pool>["reserve"] = BoundAccessors.reserve(BufferPool)

/**
 * Runs an effect that does not know beforehand how much memory it needs. A pool runs one such effect at a time, in the
 * order of their calls, so no two of them have memory and wait for each other. Together with effects that {@link
 * reserve} what they need they all end, as long as each fits the limit beside all other leases.
 *
 * In a pool or budget whose requests fail instead of waiting it runs at once, and so it does inside a reservation or
 * another exclusive section. `waitAtMost` of the pool bounds how long it waits for its section.
 *
 * Fails with OutOfMemory (when the time is over, or in a deadlock with other effects that have memory), Released,
 * DeviceLost.
 *
 * **Example** (Jobs whose need depends on the data)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * const job = (sizes: ReadonlyArray<number>) =>
 *   Effect.forEach(sizes, (size) => Effect.andThen(Effect.yieldNow, BufferPool.allocate(size))).pipe(
 *     Effect.scoped,
 *     BufferPool.exclusively
 *   )
 *
 * Effect.forEach([[500, 400], [300, 600], [900]], job, { concurrency: "unbounded" }).pipe(
 *   Effect.map((jobs) => jobs.length),
 *   Effect.provide(BufferPool.layer({ maxBytes: 1000, onExhausted: "wait" }))
 * ) // => 3
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const exclusively: Accessors.OfPool<BufferPool, Pool>["exclusively"] = BoundAccessors.exclusively(BufferPool)

/**
 * Leases of all sizes together, or none: the request has one place in the wait queue, and no lease while it waits. They
 * belong to the caller's scope, and come in the shape of the sizes: a tuple for a tuple, a record for a record. The
 * options apply to every lease; `labels` names each of them.
 *
 * Fails as {@link allocate}, with LimitExceeded when they do not fit the limit together, and with InvalidRequest for labels that have
 * another shape than the sizes.
 *
 * **Example** (What a step needs, in one request)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const { input, output } = yield* BufferPool.allocateAll({ input: 4096, output: 1024 })
 *   const [left, right] = yield* BufferPool.allocateAll([512, 256])
 *   return [input.size, output.size, left.size, right.size]
 * }) // => [4096, 1024, 512, 256]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const allocateAll = <const S extends Sizes>(
  sizes: S,
  options?: AllocateAllOptions<NoInfer<S>>
): Effect.Effect<Leases<S>, GpuError, BufferPool | Scope.Scope> => {
  const located = CallSite.locate(options, allocateAll)
  return BufferPool.use((pool) => pool.allocateAll(sizes, located))
}

/**
 * Lends leases of all sizes together to `f`, as {@link allocateAll} gives them, and takes them back when `f` has ended.
 * Errors as {@link allocateAll}.
 *
 * **Example** (Two scratch buffers for one step)
 *
 * ```ts
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 *
 * const step = BufferPool.useAll([1024, 1024], ([from, to]) => CommandQueue.copy(from, to))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const useAll = <const S extends Sizes, A, E, R>(
  sizes: S,
  f: (leases: Leases<S>) => Effect.Effect<A, E, R>,
  options?: AllocateAllOptions<NoInfer<S>>
): Effect.Effect<A, E | GpuError, R | BufferPool> => {
  const located = CallSite.locate(options, useAll)
  return BufferPool.use((pool) => pool.useAll(sizes, f, located))
}
