/**
 * The pool of staging memory: what the program maps, and the device copies to and from. It is page-locked memory where a
 * driver has that.
 *
 * **Details**
 *
 * On WebGPU these are buffers with MAP_WRITE or MAP_READ, mapped in place. On OpenCL they are buffers with
 * CL_MEM_ALLOC_HOST_PTR, which the driver maps; the host has no memory of that kind, and lends copies. While the pool is in
 * context, `CommandQueue.read`, `readInto` and `readView` use its memory on WebGPU, instead of a buffer made for each read.
 *
 * @see pycuda.tools.PageLockedMemoryPool, cupy.cuda.PinnedMemoryPool
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { ViewType } from "../../domain/data/ElementClass.ts"
import * as StridedShape from "../../domain/data/StridedShape.ts"
import type { BackendTraits } from "../../domain/device/BackendTraits.ts"
import { type GpuError, invalidRequest, released, unsupported } from "../../domain/GpuError.ts"
import {
  BlockOptions,
  type ExhaustedOptions,
  type LeasingSettings,
  SharedBlockOptions
} from "../../domain/pool/PoolOptions.ts"
import type * as SizePolicy from "../../domain/pool/SizePolicy.ts"
import * as Allocator from "../buffers/Allocator.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import { openSource, policyOf } from "../buffers/BufferSource.ts"
import type { Elements } from "../buffers/mapping/MappedArray.ts"
import type { PooledBuffer } from "../buffers/PooledBuffer.ts"
import { SlabSource, type SlabSourceOptions } from "../buffers/SlabSource.ts"
import * as StagedReading from "../buffers/staging/StagedReading.ts"
import { CurrentStagingMemory, type StagingMemory, type UseStaging } from "../buffers/staging/StagingMemory.ts"
import { bufferFirst, eitherWay } from "../buffers/SubjectFirst.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import { type ConfigOf, layerOfConfig } from "../calls/LayerConfig.ts"
import { validated } from "../calls/Validated.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import * as KnownQueues from "../device/queues/KnownQueues.ts"
import * as Lease from "../lease/Lease.ts"
import type * as Accessors from "../pool/Accessors.ts"
import * as BoundAccessors from "../pool/BoundAccessors.ts"
import type { DeviceMemory } from "../pool/DeviceMemory.ts"
import type { JointRequests } from "../pool/JointRequests.ts"
import { openShared } from "../pool/OpenShared.ts"
import { controlsOf, openAlone, openRequests, type PoolControls, shownAsPool } from "../pool/Pool.ts"
import type { PoolRuntime } from "../pool/PoolRuntime.ts"
import { CommandQueue } from "../queue/CommandQueue.ts"
import { bothWays, type Direction, type DirectionMemory, memoryOf } from "./Direction.ts"
import * as IndirectDownload from "./IndirectDownload.ts"
import { StagedArray, type UseMemory } from "./StagedArray.ts"

export type { Direction } from "./Direction.ts"

export { StagedArray } from "./StagedArray.ts"

/**
 * How a pool of staging memory behaves: as any pool. Sizes are bytes, or texts as `"64 MiB"`, or shares of the device's
 * memory as `"5%"` where the backend reports it.
 *
 * **Example** (Memory that goes back after a burst)
 *
 * ```ts
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const staging = StagingPool.layer({ maxBytes: "64 MiB", onExhausted: "wait", idleTimeToLive: "10 seconds" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface StagingPoolOptions extends Schema.Schema.Type<typeof BlockOptions> {}

/**
 * The options of one request for a staged array.
 *
 * @category models
 * @since 0.1.0
 */
export interface StagingOptions extends ExhaustedOptions {
  /**
   * Which way its data go: `"upload"` without it. With `"both"` one array is uploaded and downloaded, and keeps its elements; on
   * WebGPU its downloads pass through other memory of the pool, since no memory there goes both ways.
   */
  readonly direction?: Direction | undefined
  /** The order of its elements: `"C"` (rows) without it, or `"F"` (columns). */
  readonly order?: StridedShape.Order | undefined
  /** Errors and a pool's lists of the largest holders show it. */
  readonly label?: string | undefined
  /** Where in the program the memory was asked for; filled in while call sites are tracked. */
  readonly callSite?: string | undefined
}

/**
 * Elements along each axis, or of one axis.
 *
 * @category models
 * @since 0.1.0
 */
export type Shape = number | ReadonlyArray<number>

/**
 * The methods of a pool of staging memory, and of a budget or a reservation within one.
 *
 * **Example** (A function that works on any of them)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { StagingPool } from "effect-gpu-pool"
 *
 * const warmUp = (pool: StagingPool.Pool, bytes: number) => Effect.scoped(pool.allocate(bytes, Uint8Array))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Pool extends PoolControls<Pool> {
  /** An array in staging memory until the caller's scope closes. See {@link allocate}. */
  readonly allocate: <A extends Elements>(
    shape: Shape,
    type: ViewType<A>,
    options?: StagingOptions
  ) => Effect.Effect<StagedArray<A>, GpuError, Scope.Scope>
  /** Lends such an array to `f`, without a scope. See {@link use}. */
  readonly use: <A extends Elements, B, E, R>(
    shape: Shape,
    type: ViewType<A>,
    f: (array: StagedArray<A>) => Effect.Effect<B, E, R>,
    options?: StagingOptions
  ) => Effect.Effect<B, E | GpuError, R>
}

/**
 * The service.
 *
 * **Example** (How much staging memory is leased)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const leased = Effect.gen(function*() {
 *   const pool = yield* StagingPool.StagingPool
 *   return (yield* pool.stats).activeBytes
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class StagingPool extends Context.Service<StagingPool, Pool>()("effect-gpu-pool/StagingPool") {}

type StagingRequests = JointRequests<BufferUsage.BufferUsage, DeviceBuffer, PooledBuffer>

type Settings = LeasingSettings & { readonly sizePolicy: SizePolicy.SizePolicy }

const withoutStaging =
  "This device was opened without it: open it by the layer of its backend that has all, or leave the pool " +
  "out. Reads then make the memory that they need."

/** `maxBytes` is the pool's own limit where it shares its memory with other pools. */
const openPool = (memory: PoolRuntime, settings: Settings, maxBytes: number | undefined) =>
  Effect.gen(function*() {
    const device = yield* DeviceContext
    const { backend, traits } = device.info
    if (!traits.hasStaging) return yield* unsupported("StagingPool.layer", backend, "staging memory", withoutStaging)
    const driver = yield* QueueDriver
    const source = yield* openSource(StagingSource, memory, settings)
    const requests = yield* openRequests(memory, source, settings, maxBytes)
    return contextOf(poolOf(device, driver, settings.clears)(requests))
  })

/** The memory of each pool, and of the budgets and reservations within it, for reads. */
const memories = new WeakMap<Pool, StagingMemory>()

/** A context with a pool whose memory reads use. */
const contextOf = (pool: Pool): Context.Context<StagingPool> =>
  Context.add(Context.make(StagingPool, pool), CurrentStagingMemory, memories.get(pool))

/** Makes reads in an effect use the budget or reservation `inner`, if they would use the pool `outer`. */
const reading = <A, E, R>(effect: Effect.Effect<A, E, R>, outer: Pool, inner: Pool): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const around = memories.get(outer)
    return around !== undefined && around === fiber.getRef(CurrentStagingMemory)
      ? Effect.provideService(effect, CurrentStagingMemory, memories.get(inner))
      : effect
  })

const provide = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  inner: Pool,
  outer: Pool
): Effect.Effect<A, E, Exclude<R, StagingPool>> =>
  reading(Effect.provideService(effect, StagingPool, inner), outer, inner)

/** Memory of the pool to download to; where that fails, memory that is made for this use, as without a pool. */
const useOf = (requests: StagingRequests, fresh: UseStaging, options?: ExhaustedOptions) =>
<A, E, R>(
  bytes: number,
  f: (memory: DeviceBuffer, lease?: PooledBuffer) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend(() => {
    let hasBegun = false
    const used = requests.use(bytes, BufferUsage.download, (lease): Effect.Effect<A, E | GpuError, R> => {
      const { block } = lease
      // The pool may have closed since.
      if (block === undefined) return released("StagingPool.use", lease)
      hasBegun = true
      return f(block.value, lease)
    }, options)
    return Effect.catch(used, (error) => hasBegun ? Effect.fail(error) : fresh(bytes, f))
  })

/** A checked request. */
interface Asked<A extends Elements> {
  readonly type: ViewType<A>
  readonly direction: Direction
  readonly memory: DirectionMemory
  readonly layout: StridedShape.StridedShape
  readonly bytes: number
}

const askedOf = <A extends Elements>(
  operation: string,
  shape: Shape,
  type: ViewType<A>,
  options: StagingOptions | undefined,
  traits: BackendTraits
): Asked<A> => {
  const { direction = "upload", order } = options ?? {}
  const axes = typeof shape === "number" ? [shape] : shape
  const layout = valid(StridedShape.resolve(operation, { shape: axes, order }, Number.MAX_SAFE_INTEGER))
  const bytes = layout.span * type.BYTES_PER_ELEMENT
  return { type, direction, memory: valid(memoryOf(operation, direction, bytes, traits)), layout, bytes }
}

/** The pool itself, a budget or a reservation within it. */
const poolOf = (device: DeviceContext["Service"], driver: QueueDriver["Service"], clears: boolean) => {
  const { traits } = device.info
  const services = Context.make(DeviceContext, device).pipe(Context.add(QueueDriver, driver))
  const fresh = StagedReading.fresh(device, driver)
  const arrayOf = <A extends Elements>(
    lease: PooledBuffer,
    { direction, layout, memory, type }: Asked<A>,
    useOther: UseMemory
  ): Effect.Effect<StagedArray<A>, GpuError> => {
    const array = new StagedArray(lease, direction, memory, type, layout, services, useOther)
    if (direction === "download") return Effect.succeed(array)
    return Effect.map(array.map(), () => {
      const { data } = array
      // The array has no elements if the pool has closed since.
      if (clears && !memory.takesCopies && data.length > 0) {
        new Uint8Array(data.buffer, data.byteOffset, data.byteLength).fill(0)
      }
      return array
    })
  }
  const over = (requests: StagingRequests): Pool => {
    const controls = controlsOf(requests, over)
    // A transfer must not wait for further memory: its program keeps its array meanwhile, and others may wait for that.
    const useNow = useOf(requests, fresh, { onExhausted: "fail" })
    const useOther: UseMemory = (bytes, f) => useNow(bytes, (memory, lease) => f(lease ?? memory))
    const pool: Pool = shownAsPool(
      requests,
      StagingPool.of({
        ...controls,
        reserve: (bytes, f, options) => controls.reserve(bytes, (inner) => reading(f(inner), pool, inner), options),
        allocate: function allocate(shape, type, given) {
          const options = CallSite.locate(given, allocate)
          return validated("StagingPool.allocate", (operation) => {
            const asked = askedOf(operation, shape, type, options, traits)
            const leased = requests.allocate(asked.bytes, asked.memory.usage, options)
            return Effect.flatMap(
              leased,
              (lease) => Effect.onError(arrayOf(lease, asked, useOther), () => Effect.ignore(Lease.release(lease)))
            )
          })
        },
        use: function use(shape, type, f, given) {
          const options = CallSite.locate(given, use)
          return validated("StagingPool.use", (operation) => {
            const asked = askedOf(operation, shape, type, options, traits)
            const withArray = (lease: PooledBuffer) => Effect.flatMap(arrayOf(lease, asked, useOther), f)
            return requests.use(asked.bytes, asked.memory.usage, withArray, options)
          })
        }
      })
    )
    const use = useOf(requests, fresh)
    const read: StagingMemory["read"] = (operation, check) => StagedReading.read(driver, use, operation, check)
    memories.set(pool, { info: device.info, use, read })
    return pool
  }
  return over
}

const made = (options: StagingPoolOptions = {}) =>
  openAlone("StagingPool.layer", options, BlockOptions, policyOf, openPool)

/**
 * Builds a pool of staging memory over the Allocator in context, which closes with the scope. Reads do not use it: that is
 * for the one of {@link layer}. Fails with InvalidRequest for invalid options, and with Unsupported for a share of the memory
 * of a device that does not report it.
 *
 * **Example** (Staging memory for one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator, StagingPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const pool = yield* StagingPool.make({ maxBytes: "1 MiB", label: "job" })
 *   const array = yield* pool.allocate(16, Float32Array)
 *   return array.size
 * }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate)) // => 64
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options?: StagingPoolOptions
): Effect.Effect<Pool, GpuError, Scope.Scope | Allocator.Allocator | DeviceContext | QueueDriver> =>
  Effect.map(made(options), Context.get(StagingPool))

/**
 * A pool of staging memory on the device in context, with a limit of its own. Reads use its memory while it is in context.
 * Fails as {@link make}.
 *
 * **Example** (At most 64 MiB of staging memory)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool, StagingPool } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const Gpu = Layer.merge(BufferPool.layer(), StagingPool.layer({ maxBytes: "64 MiB" })).pipe(
 *   Layer.provideMerge(WebGpu.layer())
 * )
 * ```
 *
 * @see pycuda.tools.PageLockedMemoryPool
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options?: StagingPoolOptions
): Layer.Layer<StagingPool, GpuError, DeviceContext | QueueDriver> =>
  Layer.provide(Layer.effectContext(made(options)), Allocator.layerImmediate)

/**
 * A pool of staging memory whose bytes count in the memory that it shares with other pools, of buffers or of images: see
 * `DeviceMemory`. Fails as {@link make}.
 *
 * **Example** (Buffers and staging memory under one limit)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool, DeviceMemory, StagingPool } from "effect-gpu-pool"
 *
 * const Pools = Layer.merge(BufferPool.layerShared(), StagingPool.layerShared({ maxBytes: "64 MiB" })).pipe(
 *   Layer.provideMerge(DeviceMemory.layer({ maxBytes: "512 MiB" }))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerShared = (
  options: SharedStagingPoolOptions = {}
): Layer.Layer<StagingPool, GpuError, DeviceMemory | DeviceContext | QueueDriver> =>
  Layer.effectContext(openShared("StagingPool.layerShared", options, SharedBlockOptions, policyOf, openPool)).pipe(
    Layer.provide(Allocator.layerImmediate)
  )

/**
 * How a pool of staging memory behaves that shares a `DeviceMemory`.
 *
 * @category models
 * @since 0.1.0
 */
export interface SharedStagingPoolOptions extends Schema.Schema.Type<typeof SharedBlockOptions> {}

/**
 * The options of {@link layerConfig}: one configuration for all, or a configuration or a value for each.
 *
 * @category models
 * @since 0.1.0
 */
export type StagingPoolConfig = ConfigOf<StagingPoolOptions>

/**
 * The same as {@link layer}, with options that come from configuration, whole or one by one.
 *
 * **Example** (The limit from the environment)
 *
 * ```ts
 * import { Config } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const Staging = StagingPool.layerConfig({ maxBytes: Config.String("STAGING_LIMIT"), onExhausted: "wait" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: StagingPoolConfig
): Layer.Layer<StagingPool, GpuError | Config.ConfigError, DeviceContext | QueueDriver> =>
  layerOfConfig("StagingPool.layerConfig", config, BlockOptions, layer)

/**
 * A typed array in staging memory, until the caller's scope closes. Its memory goes to the next owner only when the
 * device no longer uses it.
 *
 * Fails as `BufferPool.allocate`, and with InvalidRequest for an invalid shape, order, direction or class.
 *
 * **Example** (Uploading rows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, StagingPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   const staged = yield* StagingPool.allocate([2, 2], Float32Array, { order: "F" })
 *   staged.data.set([1, 2, 3, 4])
 *   staged.setUnsafe(20, 1, 0)
 *   yield* StagingPool.upload(staged, x)
 *   return Array.from(yield* CommandQueue.read(x, Float32Array))
 * }).pipe(Effect.provide(StagingPool.layer())) // => [1, 20, 3, 4]
 * ```
 *
 * @see pycuda.tools.PageLockedMemoryPool.allocate
 * @category accessors
 * @since 0.1.0
 */
export const allocate = <A extends Elements>(
  shape: Shape,
  type: ViewType<A>,
  options?: StagingOptions
): Effect.Effect<StagedArray<A>, GpuError, StagingPool | Scope.Scope> => {
  const located = CallSite.locate(options, allocate)
  return StagingPool.use((pool) => pool.allocate(shape, type, located))
}

/**
 * Lends a typed array in staging memory to `f`, without a scope. Errors as {@link allocate}.
 *
 * **Example** (A frame that is read again and again)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, StagingPool } from "effect-gpu-pool"
 *
 * const lastOf = (frames: ReadonlyArray<BufferPool.PooledBuffer>) =>
 *   StagingPool.use(256, Float32Array, (staged) =>
 *     Effect.gen(function*() {
 *       for (const frame of frames) yield* StagingPool.download(frame, staged)
 *       return staged.data.slice()
 *     }), { direction: "download" })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const use = <A extends Elements, B, E, R>(
  shape: Shape,
  type: ViewType<A>,
  f: (array: StagedArray<A>) => Effect.Effect<B, E, R>,
  options?: StagingOptions
): Effect.Effect<B, E | GpuError, R | StagingPool> => {
  const located = CallSite.locate(options, use)
  return StagingPool.use((pool) => pool.use(shape, type, f, located))
}

/**
 * Where in a buffer `upload` and `download` begin.
 *
 * @category models
 * @since 0.1.0
 */
export interface PlaceOptions {
  /** Bytes; a multiple of 4, or of the device's `limits.copyAlignment`; 0 without it. */
  readonly offset?: number | undefined
}

const isStaged = (value: unknown): boolean => value instanceof StagedArray

/**
 * Copies a staged array to a buffer, in queue order, and waits until the device no longer uses the array: then it has elements
 * again, which are unspecified unless the array goes both ways. What is recorded meanwhile by other fibers comes after the copy.
 *
 * Fails with InvalidRequest for an array to download and for bounds (as of `CommandQueue.copy`); with Released,
 * also for an array without elements, as while another upload of it waits, or after one was interrupted; with ForeignDevice,
 * DeviceLost or DriverError.
 *
 * **Example** (Two halves of a buffer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, StagingPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   const staged = yield* StagingPool.allocate(2, Float32Array)
 *   for (const half of [0, 1]) {
 *     staged.data.fill(half)
 *     yield* StagingPool.upload(staged, x, { offset: 8 * half })
 *   }
 *   return Array.from(yield* CommandQueue.read(x, Float32Array))
 * }).pipe(Effect.provide(StagingPool.layer())) // => [0, 0, 1, 1]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const upload: {
  /**
   * Copies a staged array to a buffer, in queue order, and waits until the device no longer uses the array: then it has elements
   * again, which are unspecified unless the array goes both ways. What is recorded meanwhile by other fibers comes after the copy.
   */
  <A extends Elements>(
    target: BufferLike.BufferLike,
    options?: PlaceOptions
  ): (staged: StagedArray<A>) => Effect.Effect<void, GpuError, CommandQueue>
  <A extends Elements>(
    staged: StagedArray<A>,
    target: BufferLike.BufferLike,
    options?: PlaceOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = eitherWay(
  (args) => isStaged(args[0]),
  (staged, target, options) =>
    CommandQueue.use((queue) =>
      validated("StagingPool.upload", (operation) => {
        valid(directionProblem(operation, staged, "upload"))
        if (!staged.isMapped) return staged.problem(operation)
        const copy = queue.copy(staged.lease, target, { targetOffset: options?.offset, size: staged.size })
        return Effect.andThen(
          staged.unmap(),
          Effect.flatMap(Effect.exit(copy), (exit) => Effect.andThen(staged.map(), exit))
        )
      })
    )
)

/**
 * Copies a buffer's bytes to a staged array, after everything recorded before, and waits for them: then the array has them as its
 * elements. The device writes to the memory that the array shows, so this is the fast way; `CommandQueue.readInto(source,
 * staged.data)` reads too, with one copy more.
 *
 * Fails with InvalidRequest for an array to upload and for bounds (as of `CommandQueue.copy`); with Released, ForeignDevice,
 * DeviceLost, and OutOfMemory where an array for both directions needs other memory for it (on WebGPU); with DriverError, also for the failures of recorded work.
 *
 * **Example** (The last two of four numbers)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, StagingPool } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(16)
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   const staged = yield* StagingPool.allocate(2, Float32Array, { direction: "download" })
 *   yield* StagingPool.download(x, staged, { offset: 8 })
 *   return Array.from(staged.data)
 * }).pipe(Effect.provide(StagingPool.layer())) // => [3, 4]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const download: {
  /**
   * Copies a buffer's bytes to a staged array, after everything recorded before, and waits for them: then the array has them as its
   * elements.
   */
  <A extends Elements>(
    staged: StagedArray<A>,
    options?: PlaceOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, CommandQueue>
  <A extends Elements>(
    source: BufferLike.BufferLike,
    staged: StagedArray<A>,
    options?: PlaceOptions
  ): Effect.Effect<void, GpuError, CommandQueue>
} = eitherWay(
  bufferFirst,
  (source, staged, options) =>
    CommandQueue.use((queue) =>
      validated("StagingPool.download", (operation) => {
        valid(directionProblem(operation, staged, "download"))
        if (!staged.takesCopies) return IndirectDownload.download(operation, queue, source, staged, options?.offset)
        const copy = queue.copy(source, staged.lease, { sourceOffset: options?.offset, size: staged.size })
        // A failed download leaves the old elements in place.
        const { isMapped } = staged
        return Effect.andThen(
          staged.unmap(),
          Effect.flatMap(
            Effect.exit(copy),
            (exit) => isMapped || Exit.isSuccess(exit) ? Effect.andThen(staged.map(), exit) : exit
          )
        )
      })
    )
)

const directionProblem = <A extends Elements>(
  operation: string,
  staged: StagedArray<A>,
  direction: Direction
): GpuError | undefined =>
  staged.direction === direction || staged.direction === "both" ? undefined : invalidRequest(
    operation,
    `the array was allocated to ${staged.direction}`,
    `Allocate one with { direction: "${direction}" }, or with { direction: "both" } to use it either way.`
  )

/**
 * The counters.
 *
 * **Example** (PyCUDA's held_blocks and active_blocks)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const blocks = Effect.map(StagingPool.stats, ({ activeBlocks, heldBlocks }) => [heldBlocks, activeBlocks])
 * ```
 *
 * @see pycuda.tools.PageLockedMemoryPool.held_blocks
 * @category accessors
 * @since 0.1.0
 */
export const stats: Accessors.OfPool<StagingPool, Pool>["stats"] = BoundAccessors.stats(StagingPool)

/**
 * The largest live leases, largest first: three, or `count`. See `BufferPool.holders`.
 *
 * **Example** (Who has the staging memory)
 *
 * ```ts
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const largest = StagingPool.holders(10)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const holders: Accessors.OfPool<StagingPool, Pool>["holders"] = BoundAccessors.holders(StagingPool)

/**
 * The limit, in bytes; `Infinity` without one.
 *
 * **Example** (What is left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const left = Effect.zipWith(StagingPool.maxBytes, StagingPool.stats, (limit, { activeBytes }) => limit - activeBytes)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const maxBytes: Accessors.OfPool<StagingPool, Pool>["maxBytes"] = BoundAccessors.maxBytes(StagingPool)

/**
 * Changes the limit: see `BufferPool.setLimit`.
 *
 * **Example** (Less staging memory after the start)
 *
 * ```ts
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const loaded = StagingPool.setLimit("16 MiB")
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const setLimit: Accessors.OfPool<StagingPool, Pool>["setLimit"] = BoundAccessors.setLimit(StagingPool)

/**
 * Frees held memory until no more than `bytes` are managed: see `BufferPool.trimTo`.
 *
 * **Example** (Keeping little between two bursts)
 *
 * ```ts
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const rest = StagingPool.trimTo("4 MiB")
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const trimTo: Accessors.OfPool<StagingPool, Pool>["trimTo"] = BoundAccessors.trimTo(StagingPool)

/**
 * Frees all held memory, and waits until the driver has it. Errors as `BufferPool.freeHeld`.
 *
 * **Example** (After the last upload)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const uploaded = <A, E, R>(job: Effect.Effect<A, E, R>) => Effect.tap(job, () => StagingPool.freeHeld)
 * ```
 *
 * @see pycuda.tools.PageLockedMemoryPool.free_held
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Accessors.OfPool<StagingPool, Pool>["freeHeld"] = BoundAccessors.freeHeld(StagingPool)

/**
 * Frees the held blocks that a queue of the device used last, and waits until the driver has their memory; blocks that
 * no queue has used count for the first queue. On a device with one queue these are all held blocks. Errors as {@link
 * freeHeld}, and InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (Giving back what a job on its own queue has left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, StagingPool } from "effect-gpu-pool"
 *
 * const alone = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.flatMap(CommandQueue.make(), (queue) =>
 *     Effect.ensuring(CommandQueue.on(job, queue), Effect.ignore(StagingPool.freeHeldOf(queue))))
 * ```
 *
 * @see cupy.cuda.MemoryPool.free_all_blocks, with a stream
 * @category accessors
 * @since 0.1.0
 */
export const freeHeldOf: Accessors.OfPool<StagingPool, Pool>["freeHeldOf"] = BoundAccessors.freeHeldOf(StagingPool)

/**
 * The pool's counters for one queue of its device: held blocks, and how many leases of the queue had to wait for
 * another queue. Fails with InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (How often a queue waits for the others)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, StagingPool } from "effect-gpu-pool"
 *
 * const waits = Effect.map(Effect.flatMap(CommandQueue.CommandQueue, StagingPool.statsOf), ({ waits }) => waits)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const statsOf: Accessors.OfPool<StagingPool, Pool>["statsOf"] = BoundAccessors.statsOf(StagingPool)

/**
 * Frees all held memory, and from now on every block when its lease ends.
 *
 * **Example** (A program that uploads once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const once = <A, E, R>(uploads: Effect.Effect<A, E, R>) => Effect.andThen(StagingPool.stopHolding, uploads)
 * ```
 *
 * @see pycuda.tools.PageLockedMemoryPool.stop_holding
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Accessors.OfPool<StagingPool, Pool>["stopHolding"] = BoundAccessors.stopHolding(StagingPool)

/**
 * From now on released memory is kept for reuse again, after {@link stopHolding}.
 *
 * **Example** (Keeping nothing during one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const lean = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.acquireUseRelease(StagingPool.stopHolding, () => job, () => StagingPool.resumeHolding)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const resumeHolding: Accessors.OfPool<StagingPool, Pool>["resumeHolding"] = BoundAccessors.resumeHolding(
  StagingPool
)

/**
 * Asks `handler` when staging memory has run out, until the scope closes: see `BufferPool.onOutOfMemory`.
 *
 * **Example** (Dropping a cache of staged rows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const dropping = (cache: Map<string, unknown>) =>
 *   StagingPool.onOutOfMemory(() => Effect.sync(() => cache.delete("rows")))
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const onOutOfMemory: Accessors.OfPool<StagingPool, Pool>["onOutOfMemory"] = BoundAccessors.onOutOfMemory(
  StagingPool
)

/**
 * A pool on the same memory that leases at most `limit` bytes at a time, as a value. Details and errors as
 * {@link withBudget}.
 *
 * **Example** (A budget for each connection)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const connections = Effect.forEach(["a", "b"], (label) => StagingPool.budget("4 MiB", { label }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const budget: Accessors.OfPool<StagingPool, Pool>["budget"] = BoundAccessors.budget(StagingPool)

/**
 * Runs an effect with a pool that leases at most `limit` bytes (or "64 MiB", or "25%") at a time, on the memory of the
 * pool around it.
 *
 * Reads in the effect use the budget too. A read for which it has no room makes memory for itself, or waits where the
 * pool's requests wait. See `BufferPool.withBudget`.
 *
 * **Example** (Uploads that leave staging memory to others)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const rows = Effect.forEach([1024, 1024], (bytes) => StagingPool.allocate(bytes, Uint8Array))
 * Effect.scoped(rows).pipe(
 *   StagingPool.withBudget("1 KiB"),
 *   Effect.catchReason("GpuError", "OutOfMemory", ({ limitName, limit }) => Effect.succeed([limitName, limit])),
 *   Effect.provide(StagingPool.layer())
 * ) // => ["budget", 1024]
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const withBudget: Accessors.OfPool<StagingPool, Pool>["withBudget"] = BoundAccessors.withBudget(
  StagingPool,
  provide
)

/**
 * Waits until `bytes` (or "64 MiB", or "25%") are free, reserves them for an effect, and then runs it. As long as the
 * effect's requests together stay within these bytes, they bypass every wait queue. Bytes that its leases release are
 * reserved for it again, until the effect ends. Leases that outlive it stay.
 *
 * Reads in the effect draw from it too, so their bytes count among these. See `BufferPool.reserve`.
 *
 * **Example** (Sixteen jobs that each need an array to upload and one to download, in room for two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const job = Effect.gen(function*() {
 *   yield* StagingPool.allocate(1024, Uint8Array, { direction: "upload" })
 *   yield* Effect.yieldNow
 *   yield* StagingPool.allocate(1024, Uint8Array, { direction: "download" })
 * }).pipe(Effect.scoped, StagingPool.reserve("2 KiB"))
 *
 * Effect.replicateEffect(job, 16, { concurrency: "unbounded" }).pipe(
 *   Effect.andThen(StagingPool.stats),
 *   Effect.map(({ activeBlocks, reservedBytes, waiters }) => [activeBlocks, reservedBytes, waiters]),
 *   Effect.provide(StagingPool.layer({ maxBytes: "4 KiB", onExhausted: "wait" }))
 * ) // => [0, 0, 0]
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const reserve: Accessors.OfPool<StagingPool, Pool>["reserve"] = BoundAccessors.reserve(StagingPool)

/**
 * Runs an effect that does not know beforehand how much staging memory it needs: a pool runs one such effect at a time.
 * See `BufferPool.exclusively`.
 *
 * **Example** (As many rows as the data have)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { StagingPool } from "effect-gpu-pool"
 *
 * const job = (rows: ReadonlyArray<number>) =>
 *   Effect.forEach(rows, (bytes) => Effect.andThen(Effect.yieldNow, StagingPool.allocate(bytes, Uint8Array))).pipe(
 *     Effect.scoped,
 *     StagingPool.exclusively
 *   )
 *
 * Effect.forEach([[512, 256], [256, 512], [1024]], job, { concurrency: "unbounded" }).pipe(
 *   Effect.map((jobs) => jobs.length),
 *   Effect.provide(StagingPool.layer({ maxBytes: "1 KiB", onExhausted: "wait" }))
 * ) // => 3
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const exclusively: Accessors.OfPool<StagingPool, Pool>["exclusively"] = BoundAccessors.exclusively(StagingPool)

/** Buffers that the program maps, one family for each direction. */
class StagingSource extends SlabSource {
  override readonly service = "StagingPool"

  /** Blocks of its own where staging memory cannot be split, in sizes of its own policy. */
  constructor(options: SlabSourceOptions) {
    super(options.traits.stagesBothWays ? options : { ...options, slabs: undefined })
  }

  /**
   * No flags: more than those of its direction would make it another kind of memory. Slabs are for arrays of all directions, since one
   * for each would be left with more free memory.
   */
  protected override ofBlocks(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    return this.splits ? bothWays : usage
  }

  override isUsual(): boolean {
    return true
  }

  /** Its mappings are commands of the first queue, whichever queue copies to it and from it. */
  override create(...request: Parameters<SlabSource["create"]>): Effect.Effect<DeviceBuffer, GpuError> {
    return Effect.tap(
      super.create(...request),
      (buffer) => Effect.sync(() => KnownQueues.of(buffer.owner)?.serialise(buffer))
    )
  }

  /** Commands cannot write to what the program uploads from: `StagedArray` fills that itself. */
  override clearUnsafe(buffer: DeviceBuffer, capacity: number): Exit.Exit<void, GpuError> {
    return buffer.usage === BufferUsage.upload ? Exit.void : super.clearUnsafe(buffer, capacity)
  }
}
