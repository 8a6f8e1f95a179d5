/**
 * The image pool: scoped leases on images that are kept and reused. Images of one kind, size, format and usage stand for
 * each other; all others do not, so a pool pays for programs that ask for the same images again and again.
 *
 * A hit is one synchronous step; a miss asks the driver, within a byte limit; when memory runs short the pool reclaims
 * and gives held images back, the largest first, before it fails. What it hands out is a {@link PooledImage} that
 * belongs to the caller's scope, and that every operation of `Images` takes.
 *
 * @see pyopencl.tools.MemoryPool, which has buffers alone
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { optionsProblem, readValues } from "../../domain/ArgumentProblem.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import { type GpuError, type Holder, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import type { ImageFormat } from "../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../domain/images/ImageShape.ts"
import * as KnownOptions from "../../domain/KnownOptions.ts"
import * as Label from "../../domain/Label.ts"
import * as MemoryLimit from "../../domain/MemoryLimit.ts"
import * as PoolStats from "../../domain/PoolStats.ts"
import { deviceState, inOneLine, showing } from "../../domain/Showing.ts"
import { shown } from "../../domain/ShownValue.ts"
import { checkedStep } from "../CheckedStep.ts"
import { CommandQueue } from "../CommandQueue.ts"
import { DeviceContext } from "../DeviceContext.ts"
import { limitOf, type PoolLimit } from "../PoolOptions.ts"
import { type ImageOptions, Images } from "./Images.ts"
import type { PooledImage } from "./PooledImage.ts"
import { ImageMemory, type ImagePoolSettings } from "./pooling/ImageMemory.ts"
import { ImageRequests } from "./pooling/ImageRequests.ts"

/**
 * How an image pool behaves. Sizes are bytes of elements, packed, or texts as `"512 MiB"`, or shares of the device's
 * memory as `"50%"` where the backend reports it; what a driver adds to an image is not counted.
 *
 * **Example** (A pool that keeps little)
 *
 * ```ts
 * import { ImagePool } from "effect-gpu-pool"
 *
 * const pool = ImagePool.layer({ maxBytes: "512 MiB", maxHeldBytes: "64 MiB" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ImagePoolOptions extends PoolLimit {
  /** The most bytes that the pool keeps for reuse: what is over it goes, the longest held first. Default: no limit. */
  readonly maxHeldBytes?: MemoryLimit.Input | undefined
  /**
   * Whether the next owner of a recycled image can read what the last one left: `"never"` (the default) hands images out
   * as they are; `"acquire"` fills them with zeros, in queue order, before each lease, fresh ones too. It adds `copyDst`
   * to the usage of the images themselves.
   */
  readonly clear?: "never" | "acquire" | undefined
  /** The label of leases without one of their own. */
  readonly label?: string | undefined
}

/**
 * What an image pool can do.
 *
 * **Example** (A function that works on any pool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImageShape } from "effect-gpu-pool"
 * import type { ImagePool } from "effect-gpu-pool"
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
export interface Pool {
  /** A lease on an image until the caller's scope closes. See {@link allocate}. */
  readonly allocate: (
    shape: ImageShape,
    format: ImageFormat,
    options?: ImageOptions
  ) => Effect.Effect<PooledImage, GpuError, Scope.Scope>
  /** Lends an image to `f`, without a scope. See {@link use}. */
  readonly use: <A, E, R>(
    shape: ImageShape,
    format: ImageFormat,
    f: (image: PooledImage) => Effect.Effect<A, E, R>,
    options?: ImageOptions
  ) => Effect.Effect<A, E | GpuError, R>
  /** The counters now. */
  readonly stats: Effect.Effect<PoolStats.PoolStats>
  /** The largest live leases, largest first. */
  readonly holders: (count?: number) => Effect.Effect<ReadonlyArray<Holder>>
  /** The limit, in bytes; `Infinity` without one. */
  readonly maxBytes: Effect.Effect<number>
  /** Gives held images back until no more than so many bytes are managed. See {@link trimTo}. */
  readonly trimTo: (bytes: MemoryLimit.Input) => Effect.Effect<void, GpuError>
  /** Gives all held images back, and waits until the driver has. Active leases stay. */
  readonly freeHeld: Effect.Effect<void, GpuError>
  /** From now on released images go straight back to the driver; frees the held ones. */
  readonly stopHolding: Effect.Effect<void, GpuError>
  /** From now on released images are kept again. */
  readonly resumeHolding: Effect.Effect<void>
}

/**
 * The service.
 *
 * **Example** (Looking the service up once for many leases)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool"
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

const operation = "ImagePool.layer"

/**
 * Builds a pool. It closes with the scope: leases that are still live become Released, and every image goes back.
 * Fails with InvalidRequest for options that make no sense, and with Unsupported for a share of the memory of a device
 * that does not report it.
 *
 * **Example** (A second pool, for one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const job = Effect.gen(function*() {
 *   const pool = yield* ImagePool.make({ maxBytes: 1 << 20, label: "job" })
 *   const image = yield* pool.allocate(ImageShape.image2d(16, 16), ImageFormat.rgba8)
 *   return image.size
 * }).pipe(Effect.scoped, Effect.provide(Host.layer()))
 * await Effect.runPromise(job) // => 1024
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: ImagePoolOptions = {}
): Effect.Effect<Pool, GpuError, Scope.Scope | Images | DeviceContext | CommandQueue> =>
  Effect.gen(function*() {
    const device = yield* DeviceContext
    const settings = readValues(operation, () => settingsOf(options, device.info))
    if (isGpuError(settings)) return yield* settings
    const { driver } = yield* CommandQueue
    const memory = new ImageMemory(settings, device, yield* Images, driver.reclaim)
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const forgetLoss = device.status.onLost(() => {
      run(memory.drop())
    })
    yield* Effect.addFinalizer(() => Effect.andThen(Effect.sync(forgetLoss), memory.close))
    return serviceOf(memory, device.info)
  })

const serviceOf = (memory: ImageMemory, device: DeviceInfo): Pool => {
  const { core, leases } = memory
  const requests = new ImageRequests(memory)
  return showing(() => poolLine(memory, device), "ImagePool")(ImagePool.of({
    allocate: (shape, format, options) => requests.allocate(shape, format, options),
    use: (shape, format, f, options) => requests.use(shape, format, f, options),
    stats: Effect.sync(() => core.stats()),
    holders: (count = 3) => Effect.sync(() => leases.largestHolders(countOf(count))),
    maxBytes: Effect.sync(() => core.maxBytes),
    trimTo: (target) =>
      checkedStep("ImagePool.trimTo", (where) => {
        const bytes = MemoryLimit.resolve(where, "bytes", { bytes: target }, device) ??
          invalidRequest(where, "bytes is not given", `Pass bytes, as 1048576 or "1 MiB".`)
        return isGpuError(bytes) ? bytes : memory.trimTo(bytes)
      }),
    freeHeld: memory.freeHeld,
    stopHolding: Effect.suspend(() => {
      core.stopHolding()
      return memory.freeHeld
    }),
    resumeHolding: Effect.sync(() => memory.resumeHolding())
  }))
}

const poolLine = ({ core, device: { status }, leases, settings }: ImageMemory, device: DeviceInfo): string =>
  inOneLine("ImagePool", settings.label, [
    PoolStats.format(core.stats()),
    core.maxBytes === Infinity ? "no byte limit" : `maxBytes ${core.maxBytes} B`,
    leases.closed ? "closed" : deviceState(status, device)
  ])

/** Programs without types can pass anything: what is no number asks for none. */
const countOf = (count: number): number => typeof count === "number" ? Math.max(0, Math.floor(count) || 0) : 0

const known = KnownOptions.of<ImagePoolOptions>({
  maxBytes: true,
  maxFraction: true,
  maxHeldBytes: true,
  clear: true,
  label: true
})

const settingsOf = (options: ImagePoolOptions, device: DeviceInfo): ImagePoolSettings | GpuError => {
  const unknown = optionsProblem(operation, options, known)
  if (unknown !== undefined) return unknown
  const { clear = "never", label } = options
  if (clear !== "never" && clear !== "acquire") {
    return invalidRequest(operation, `clear ${shown(clear)} is unknown`, `Pass "never" or "acquire".`)
  }
  const mislabelled = Label.problem(operation, label)
  if (mislabelled !== undefined) return mislabelled
  const maxBytes = limitOf(operation, options, device)
  if (isGpuError(maxBytes)) return maxBytes
  const maxHeldBytes = MemoryLimit.resolve(operation, "maxHeldBytes", { bytes: options.maxHeldBytes }, device) ??
    Infinity
  return isGpuError(maxHeldBytes) ? maxHeldBytes : { maxBytes, maxHeldBytes, clear: clear === "acquire", label }
}

/**
 * A pool of images on the device in context, beside or without a `BufferPool`: the two have limits of their own.
 *
 * **Example** (The same image twice)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
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
): Layer.Layer<ImagePool, GpuError, Images | DeviceContext | CommandQueue> => Layer.effect(ImagePool, make(options))

/**
 * A lease on an image until the caller's scope closes. Its elements are unspecified at first, unless the pool clears.
 *
 * Fails with InvalidRequest, Unsupported and LimitExceeded as `Images.make` does, LimitExceeded also over `maxBytes` or
 * the device's memory, OutOfMemory (after the whole ladder; see `isRetryable`), Released (the scope or the pool is
 * closed), DeviceLost or DriverError.
 *
 * **Example** (A picture to work on)
 *
 * ```ts
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool"
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
  options?: ImageOptions
): Effect.Effect<PooledImage, GpuError, ImagePool | Scope.Scope> =>
  ImagePool.use((pool) => pool.allocate(shape, format, options))

/**
 * Lends an image to `f` and takes it back when `f` has ended, however it ends. Errors as {@link allocate}.
 *
 * **Example** (Scratch space for one step)
 *
 * ```ts
 * import { ImageFormat, ImagePool, Images, ImageShape } from "effect-gpu-pool"
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
  options?: ImageOptions
): Effect.Effect<A, E | GpuError, R | ImagePool> => ImagePool.use((pool) => pool.use(shape, format, f, options))

/**
 * The pool's counters now; sizes are bytes of elements.
 *
 * **Example** (Watching reuse)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool"
 *
 * const report = Effect.map(ImagePool.stats, (s) => `${s.hits} hits, ${s.misses} misses, ${s.heldBytes} B held`)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stats: Effect.Effect<PoolStats.PoolStats, never, ImagePool> = ImagePool.use((pool) => pool.stats)

/**
 * Gives all held images back, and waits until the driver has. Active leases stay. Fails with what the wait fails with,
 * DeviceLost or DriverError. An image that the driver does not take back fails nothing: it is counted in
 * `stats.releaseFailures`.
 *
 * **Example** (Giving memory back between two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const heldAfter = Effect.scoped(ImagePool.allocate(ImageShape.image2d(32, 32), ImageFormat.rgba8)).pipe(
 *   Effect.andThen(ImagePool.freeHeld),
 *   Effect.andThen(ImagePool.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(ImagePool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(heldAfter) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.free_held
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Effect.Effect<void, GpuError, ImagePool> = ImagePool.use((pool) => pool.freeHeld)

/**
 * From now on released images go straight back to the driver; frees the held ones. Errors as {@link freeHeld}.
 *
 * **Example** (A pool that keeps nothing any more)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const heldAfter = ImagePool.stopHolding.pipe(
 *   Effect.andThen(Effect.scoped(ImagePool.allocate(ImageShape.image2d(32, 32), ImageFormat.rgba8))),
 *   Effect.andThen(ImagePool.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(ImagePool.layer()),
 *   Effect.provide(Host.layer())
 * )
 * await Effect.runPromise(heldAfter) // => 0
 * ```
 *
 * @see pyopencl.tools.MemoryPool.stop_holding
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Effect.Effect<void, GpuError, ImagePool> = ImagePool.use((pool) => pool.stopHolding)

/**
 * From now on released images are kept for reuse again, after {@link stopHolding}. In a pool whose device is lost
 * nothing is kept any more.
 *
 * **Example** (Keeping nothing during one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool"
 *
 * const lean = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.acquireUseRelease(ImagePool.stopHolding, () => job, () => ImagePool.resumeHolding)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const resumeHolding: Effect.Effect<void, never, ImagePool> = ImagePool.use((pool) => pool.resumeHolding)

/**
 * Gives held images back until no more than `bytes` (or "512 MiB", or "50%") are managed, active ones included, or
 * nothing is held; waits until the driver has them. Just enough goes: the smallest image that covers what is too much,
 * else the largest ones first. Errors as {@link freeHeld}, and InvalidRequest for what is no size.
 *
 * **Example** (Making room for somebody else)
 *
 * ```ts
 * import { ImagePool } from "effect-gpu-pool"
 *
 * const shrink = ImagePool.trimTo("64 MiB")
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const trimTo = (bytes: MemoryLimit.Input): Effect.Effect<void, GpuError, ImagePool> =>
  ImagePool.use((pool) => pool.trimTo(bytes))

/**
 * The largest live leases, largest first; three of them, or as many as `count` says.
 *
 * **Example** (Who holds the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool"
 *
 * const largest = Effect.map(ImagePool.holders(1), (holders) => holders[0]?.label)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const holders = (count?: number): Effect.Effect<ReadonlyArray<Holder>, never, ImagePool> =>
  ImagePool.use((pool) => pool.holders(count))

/**
 * The limit of the pool, in bytes; `Infinity` without one.
 *
 * **Example** (Half of what may be leased)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImagePool } from "effect-gpu-pool"
 *
 * const half = Effect.map(ImagePool.maxBytes, (limit) => limit / 2)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const maxBytes: Effect.Effect<number, never, ImagePool> = ImagePool.use((pool) => pool.maxBytes)
