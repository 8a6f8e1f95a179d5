/**
 * The image pool: scoped leases on images that are kept and reused. An image can stand for another only if kind, size,
 * format and usage are the same, so a pool helps programs that ask for the same images again and again.
 *
 * A hit is one synchronous step; a miss asks the driver, within a byte limit; when memory runs short the pool reclaims
 * and frees held images, in the order of its `eviction`, before it fails. It leases a {@link PooledImage}, which
 * belongs to the caller's scope, and which every operation of `Images` takes.
 *
 * @see pyopencl.tools.MemoryPool, which has buffers alone
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { ImageFormat } from "../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import {
  type ExhaustedOptions,
  type LeasingSettings,
  PoolOptions,
  SharedPoolOptions
} from "../../domain/pool/PoolOptions.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import { type ConfigOf, layerOfConfig } from "../calls/LayerConfig.ts"
import { validated } from "../calls/Validated.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import type * as Accessors from "../pool/Accessors.ts"
import * as BoundAccessors from "../pool/BoundAccessors.ts"
import type { DeviceMemory } from "../pool/DeviceMemory.ts"
import type { JointRequests } from "../pool/JointRequests.ts"
import { openShared } from "../pool/OpenShared.ts"
import { controlsOf, openAlone, openRequests, type PoolControls, shownAsPool } from "../pool/Pool.ts"
import type { PoolRuntime } from "../pool/PoolRuntime.ts"
import * as ImageAllocator from "./ImageAllocator.ts"
import type { ImageOptions } from "./Images.ts"
import { ImageSource, type KnownImage } from "./ImageSource.ts"
import type { PooledImage } from "./PooledImage.ts"

/**
 * The options of an image pool. Sizes are bytes of elements, packed, or texts as `"512 MiB"`, or shares of the device's
 * memory as `"50%"` where the backend reports it; what a driver adds to an image is not counted. A `strategy` that splits memory is
 * InvalidRequest: images are not split. That of a `DeviceMemory` which the pool shares is for the buffers there.
 *
 * **Example** (A pool that keeps little)
 *
 * ```ts
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const pool = ImagePool.layer({ maxBytes: "512 MiB", maxHeldBytes: "64 MiB" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ImagePoolOptions extends PoolOptions {}

/**
 * The options of one request for an image.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolImageOptions extends ImageOptions, ExhaustedOptions {
  /** The call that asked for it, as "file:line:column"; filled in while call sites are tracked. */
  readonly callSite?: string | undefined
}

/**
 * The methods of an image pool.
 *
 * **Example** (A function that works on any pool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, type ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * const warmUp = (pool: ImagePool.Pool, count: number) =>
 *   Effect.scoped(
 *     Effect.replicateEffect(pool.allocate(ImageShape.image2d(1024, 1024), ImageFormat.rgba8), count)
 *   )
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Pool extends PoolControls<Pool> {
  /** A lease on an image until the caller's scope closes. See {@link allocate}. */
  readonly allocate: (
    shape: ImageShape,
    format: ImageFormat,
    options?: PoolImageOptions
  ) => Effect.Effect<PooledImage, GpuError, Scope.Scope>
  /** Lends an image to `f`, without a scope. See {@link use}. */
  readonly use: <A, E, R>(
    shape: ImageShape,
    format: ImageFormat,
    f: (image: PooledImage) => Effect.Effect<A, E, R>,
    options?: PoolImageOptions
  ) => Effect.Effect<A, E | GpuError, R>
}

/**
 * The service.
 *
 * **Example** (Looking the service up once for many leases)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * const pyramid = Effect.gen(function*() {
 *   const pool = yield* ImagePool.ImagePool
 *   return yield* Effect.forEach([512, 256, 128], (side) =>
 *     pool.allocate(ImageShape.image2d(side, side), ImageFormat.rgba8))
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class ImagePool extends Context.Service<ImagePool, Pool>()("effect-gpu-pool/ImagePool") {}

/**
 * Builds a pool. It closes with the scope: leases that are still live become Released, and every image is freed. Fails
 * with InvalidRequest for invalid options, and with Unsupported for a share of the memory of a device that does not
 * report it.
 *
 * **Example** (A second pool, for one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * Effect.gen(function*() {
 *   const pool = yield* ImagePool.make({ maxBytes: 1 << 20, label: "job" })
 *   const image = yield* pool.allocate(ImageShape.image2d(16, 16), ImageFormat.rgba8)
 *   return image.size
 * }) // => 1024
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: ImagePoolOptions = {}
): Effect.Effect<Pool, GpuError, Scope.Scope | ImageDriver | DeviceContext | QueueDriver> =>
  openAlone("ImagePool.layer", options, PoolOptions, whole, openPool)

/** `maxBytes` is the pool's own limit where it shares its memory with other pools. */
const openPool = (memory: PoolRuntime, settings: LeasingSettings, maxBytes: number | undefined) =>
  Effect.gen(function*() {
    const driver = yield* QueueDriver
    const source = new ImageSource(yield* ImageAllocator.ofDevice, driver.reclaim, settings.clears)
    return poolOf(source)(yield* openRequests(memory, source, settings, maxBytes))
  })

type ImageRequests = JointRequests<KnownImage, DeviceImage, PooledImage>

/** The pool itself, a budget or a reservation within it. */
const poolOf = (source: ImageSource) => (requests: ImageRequests): Pool =>
  shownAsPool(
    requests,
    ImagePool.of({
      ...controlsOf(requests, poolOf(source)),
      allocate: function allocate(shape, format, given) {
        const options = CallSite.locate(given, allocate)
        return known(source, shape, format, options, (image) => requests.allocate(image.size, image, options))
      },
      use: function use(shape, format, f, given) {
        const options = CallSite.locate(given, use)
        return known(source, shape, format, options, (image) => requests.use(image.size, image, f, options))
      }
    })
  )

/** Looks the image up and leases it, in one step. */
const known = <A, E, R>(
  source: ImageSource,
  shape: ImageShape,
  format: ImageFormat,
  options: PoolImageOptions | undefined,
  lease: (image: KnownImage) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  validated("ImagePool.allocate", () => {
    const { label, usage = ImageUsage.defaultUsage } = options ?? {}
    return lease(valid(source.lookUp({ shape, format, usage, label })))
  })

/** It has no options besides those of every pool. */
const noneOf = () => ({})

/** No driver makes an image of a part of another one's memory. */
const whole = ({ strategy }: ImagePoolOptions) => {
  if (strategy?.splits !== true) return noneOf()
  throw invalidRequest(
    "ImagePool.layer",
    "the strategy splits memory, and images cannot be split",
    "Leave strategy out. For buffers that are split beside images, pass it to DeviceMemory.layer or BufferPool.layer."
  )
}

/**
 * A pool of images on the device in context, beside or without a `BufferPool`: the two have limits of their own.
 *
 * **Example** (The same image twice)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Host } from "effect-gpu-pool/host"
 * import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * const frame = Effect.scoped(Effect.gen(function*() {
 *   const image = yield* ImagePool.allocate(ImageShape.image2d(2, 2), ImageFormat.make("r", "float32"))
 *   yield* Images.fill(image, 0.5)
 *   return yield* Images.read(image, Float32Array)
 * }))
 * const Gpu = ImagePool.layer({ maxBytes: "256 MiB" }).pipe(Layer.provideMerge(Host.layer()))
 *
 * const hits = frame.pipe(
 *   Effect.andThen(frame),
 *   Effect.andThen(ImagePool.stats),
 *   Effect.map((stats) => stats.hits),
 *   Effect.provide(Gpu)
 * )
 * await Effect.runPromise(hits) // => 1
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options?: ImagePoolOptions
): Layer.Layer<ImagePool, GpuError, ImageDriver | DeviceContext | QueueDriver> => Layer.effect(ImagePool, make(options))

/**
 * A pool on the memory that it shares with other pools, of buffers or of images: see `DeviceMemory`. Fails as {@link layer}.
 *
 * **Example** (Images that give way to buffers, and the other way round)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool, DeviceMemory } from "effect-gpu-pool"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const Pools = Layer.merge(BufferPool.layerShared(), ImagePool.layerShared({ maxBytes: "128 MiB" })).pipe(
 *   Layer.provideMerge(DeviceMemory.layer({ maxBytes: "512 MiB" }))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerShared = (
  options: SharedPoolOptions = {}
): Layer.Layer<ImagePool, GpuError, DeviceMemory | ImageDriver | DeviceContext | QueueDriver> =>
  Layer.effect(
    ImagePool,
    openShared("ImagePool.layerShared", options, SharedPoolOptions, noneOf, openPool)
  )

/**
 * The options of {@link layerConfig}: one configuration for all, or a configuration or a value for each.
 *
 * @category models
 * @since 0.1.0
 */
export type ImagePoolConfig = ConfigOf<ImagePoolOptions>

/**
 * The same as {@link layer}, with options that come from configuration, whole or one by one.
 *
 * **Example** (The limit from the environment)
 *
 * ```ts
 * import { Config } from "effect"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const Pictures = ImagePool.layerConfig({ maxBytes: Config.String("IMAGE_POOL_LIMIT"), onExhausted: "wait" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: ImagePoolConfig
): Layer.Layer<ImagePool, GpuError | Config.ConfigError, ImageDriver | DeviceContext | QueueDriver> =>
  layerOfConfig("ImagePool.layerConfig", config, PoolOptions, layer)

/**
 * A lease on an image until the caller's scope closes. Its elements are unspecified at first, unless the pool clears.
 *
 * Fails with InvalidRequest, Unsupported and LimitExceeded as `Images.make` does, LimitExceeded also over `maxBytes` or
 * the device's memory, OutOfMemory (after the whole fallback; see `isRetryable`), Released (the scope or the pool is
 * closed), DeviceLost or DriverError.
 *
 * **Example** (A picture to work on)
 *
 * ```ts
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * const canvas = ImagePool.allocate(ImageShape.image2d(640, 480), ImageFormat.rgba8, { label: "canvas" })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const allocate = (
  shape: ImageShape,
  format: ImageFormat,
  options?: PoolImageOptions
): Effect.Effect<PooledImage, GpuError, ImagePool | Scope.Scope> => {
  const located = CallSite.locate(options, allocate)
  return ImagePool.use((pool) => pool.allocate(shape, format, located))
}

/**
 * Lends an image to `f` and takes it back when `f` ends: by success, failure or interruption. Errors as
 * {@link allocate}.
 *
 * **Example** (Scratch space for one step)
 *
 * ```ts
 * import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * const step = ImagePool.use(
 *   ImageShape.image2d(64, 64),
 *   ImageFormat.make("r", "float32"),
 *   (scratch) => Images.fill(scratch, 0)
 * )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const use = <A, E, R>(
  shape: ImageShape,
  format: ImageFormat,
  f: (image: PooledImage) => Effect.Effect<A, E, R>,
  options?: PoolImageOptions
): Effect.Effect<A, E | GpuError, R | ImagePool> => {
  const located = CallSite.locate(options, use)
  return ImagePool.use((pool) => pool.use(shape, format, f, located))
}

/**
 * The pool's counters now; sizes are bytes of elements.
 *
 * **Example** (Watching reuse)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const report = Effect.map(ImagePool.stats, (s) => `${s.hits} hits, ${s.misses} misses, ${s.heldBytes} B held`)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stats: Accessors.OfPool<ImagePool, Pool>["stats"] = BoundAccessors.stats(ImagePool)

/**
 * Frees all held images, and waits until the driver has their memory. Active leases stay. Fails with DeviceLost or
 * DriverError when the wait fails. An image that the driver fails to free does not fail the call:
 * `stats.releaseFailures` counts it.
 *
 * **Example** (Giving memory back between two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * Effect.scoped(ImagePool.allocate(ImageShape.image2d(32, 32), ImageFormat.rgba8)).pipe(
 *   Effect.andThen(ImagePool.freeHeld),
 *   Effect.andThen(ImagePool.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(ImagePool.layer())
 * ) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.free_held
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Accessors.OfPool<ImagePool, Pool>["freeHeld"] = BoundAccessors.freeHeld(ImagePool)

/**
 * Frees the held blocks that a queue of the device used last, and waits until the driver has their memory; blocks that
 * no queue has used count for the first queue. On a device with one queue these are all held blocks. Errors as {@link
 * freeHeld}, and InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (Giving back what a job on its own queue has left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const alone = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.flatMap(CommandQueue.make(), (queue) =>
 *     Effect.ensuring(CommandQueue.on(job, queue), Effect.ignore(ImagePool.freeHeldOf(queue))))
 * ```
 *
 * @see cupy.cuda.MemoryPool.free_all_blocks, with a stream
 * @category accessors
 * @since 0.1.0
 */
export const freeHeldOf: Accessors.OfPool<ImagePool, Pool>["freeHeldOf"] = BoundAccessors.freeHeldOf(ImagePool)

/**
 * The pool's counters for one queue of its device: held blocks, and how many leases of the queue had to wait for
 * another queue. Fails with InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (How often a queue waits for the others)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const waits = Effect.map(Effect.flatMap(CommandQueue.CommandQueue, ImagePool.statsOf), ({ waits }) => waits)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const statsOf: Accessors.OfPool<ImagePool, Pool>["statsOf"] = BoundAccessors.statsOf(ImagePool)

/**
 * Frees all held images, and from now on every image when its lease ends. Errors as {@link freeHeld}.
 *
 * **Example** (A pool that keeps nothing any more)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * ImagePool.stopHolding.pipe(
 *   Effect.andThen(Effect.scoped(ImagePool.allocate(ImageShape.image2d(32, 32), ImageFormat.rgba8))),
 *   Effect.andThen(ImagePool.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(ImagePool.layer())
 * ) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.stop_holding
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Accessors.OfPool<ImagePool, Pool>["stopHolding"] = BoundAccessors.stopHolding(ImagePool)

/**
 * From now on released images are kept for reuse again, after {@link stopHolding}. A pool whose device is lost keeps no
 * images any more.
 *
 * **Example** (Keeping nothing during one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const lean = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.acquireUseRelease(ImagePool.stopHolding, () => job, () => ImagePool.resumeHolding)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const resumeHolding: Accessors.OfPool<ImagePool, Pool>["resumeHolding"] = BoundAccessors.resumeHolding(ImagePool)

/**
 * Frees held images until no more than `bytes` (or "512 MiB", or "50%") are managed, active ones included, or nothing
 * is held; waits until the driver has them. It frees them in the order of the pool's `eviction`, and overshoots by less
 * than one image. Errors as {@link freeHeld}, and InvalidRequest for an invalid size.
 *
 * **Example** (Making room for somebody else)
 *
 * ```ts
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const shrink = ImagePool.trimTo("64 MiB")
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const trimTo: Accessors.OfPool<ImagePool, Pool>["trimTo"] = BoundAccessors.trimTo(ImagePool)

/**
 * The largest live leases, largest first; three of them, or as many as `count` says.
 *
 * **Example** (Who holds the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const largest = Effect.map(ImagePool.holders(1), (holders) => holders[0]?.label)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const holders: Accessors.OfPool<ImagePool, Pool>["holders"] = BoundAccessors.holders(ImagePool)

/**
 * The limit of the pool, in bytes; `Infinity` without one.
 *
 * **Example** (Half of what may be leased)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const half = Effect.map(ImagePool.maxBytes, (limit) => limit / 2)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const maxBytes: Accessors.OfPool<ImagePool, Pool>["maxBytes"] = BoundAccessors.maxBytes(ImagePool)

/**
 * Changes the limit of the running pool, or under a budget that of the budget: see `BufferPool.setLimit`.
 *
 * **Example** (Leaving memory to the scene that comes)
 *
 * ```ts
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const background = ImagePool.setLimit("128 MiB")
 * ```
 *
 * @see cupy.cuda.MemoryPool.set_limit
 * @category accessors
 * @since 0.1.0
 */
export const setLimit: Accessors.OfPool<ImagePool, Pool>["setLimit"] = BoundAccessors.setLimit(ImagePool)

/**
 * Registers a handler until the scope closes: an effect that frees memory when memory for images has run out. See
 * `BufferPool.onOutOfMemory`.
 *
 * **Example** (Old frames give way)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Lease } from "effect-gpu-pool"
 * import { ImagePool, type PooledImage } from "effect-gpu-pool/images"
 *
 * const giveWay = (frames: Array<PooledImage.PooledImage>) =>
 *   ImagePool.onOutOfMemory(() => {
 *     const oldest = frames.shift()
 *     return oldest === undefined ? Effect.succeed(false) : Effect.as(Lease.release(oldest), true)
 *   })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const onOutOfMemory: Accessors.OfPool<ImagePool, Pool>["onOutOfMemory"] = BoundAccessors.onOutOfMemory(ImagePool)

/**
 * A pool on the same memory that leases at most `limit` bytes at a time, as a value. Details and errors as
 * {@link withBudget}.
 *
 * **Example** (A budget for each window)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * const windows = Effect.forEach(["left", "right"], (label) => ImagePool.budget("64 MiB", { label }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const budget: Accessors.OfPool<ImagePool, Pool>["budget"] = BoundAccessors.budget(ImagePool)

/**
 * Runs an effect with a pool that leases at most `limit` bytes (or "64 MiB", or "25%") at a time, on the memory of
 * the pool around it.
 *
 * See `BufferPool.withBudget`.
 *
 * **Example** (Thumbnails that leave room for the rest)
 *
 * ```ts
 * import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * const thumbnail = ImagePool.use(ImageShape.image2d(64, 64), ImageFormat.rgba8, (image) => Images.read(image)).pipe(
 *   ImagePool.withBudget("1 MiB", { onExhausted: "wait", label: "thumbnails" })
 * )
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const withBudget: Accessors.OfPool<ImagePool, Pool>["withBudget"] = BoundAccessors.withBudget(ImagePool)

/**
 * Waits until `bytes` (or "64 MiB", or "25%") are free, reserves them for an effect, and then runs it. As long as the
 * effect's requests together stay within these bytes, they bypass every wait queue. Bytes that its leases release are
 * reserved for it again, until the effect ends. Leases that outlive it stay.
 *
 * See `BufferPool.reserve`.
 *
 * **Example** (A job that needs two images at the same time)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * const shape = ImageShape.image2d(512, 512)
 * const job = Effect.replicateEffect(ImagePool.allocate(shape, ImageFormat.rgba8), 2).pipe(
 *   Effect.scoped,
 *   ImagePool.reserve("2 MiB")
 * )
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const reserve: Accessors.OfPool<ImagePool, Pool>["reserve"] = BoundAccessors.reserve(ImagePool)

/**
 * Runs an effect that does not know beforehand how many images it needs: a pool runs one such effect at a time. See
 * `BufferPool.exclusively`.
 *
 * **Example** (As many levels as the picture has)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * const levels = (sides: ReadonlyArray<number>) =>
 *   Effect.forEach(sides, (side) => ImagePool.allocate(ImageShape.image2d(side, side), ImageFormat.rgba8)).pipe(
 *     Effect.scoped,
 *     ImagePool.exclusively
 *   )
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const exclusively: Accessors.OfPool<ImagePool, Pool>["exclusively"] = BoundAccessors.exclusively(ImagePool)
