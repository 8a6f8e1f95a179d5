/**
 * One service over several devices: each with its own pool of buffers and of staging memory, opened at its first use, shared by
 * all who use it, and closed when nobody has used it for a while.
 *
 * What runs on one device runs unchanged on each of several: `on` provides the services of a device to an effect.
 *
 * @see cupy.cuda.MemoryPool, cupy.cuda.Device
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { GpuError } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../../buffers/BufferLike.ts"
import { bothBuffers, eitherWay } from "../../buffers/SubjectFirst.ts"
import type * as Device from "../Device.ts"
import type { CopyOptions } from "./DeviceCopy.ts"
import { BufferPools, make, nameOf, type Options, type Pools, type Services } from "./OpenPools.ts"
import type { Located } from "./Place.ts"

export {
  BufferPools,
  devices,
  type DeviceStats,
  layer,
  open,
  type Options,
  type Pools,
  type Services,
  type Stats,
  stats
} from "./OpenPools.ts"

export type { CopyOptions } from "./DeviceCopy.ts"

export type { Located } from "./Place.ts"

/**
 * A service of {@link Service}, with its layer and accessors.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceClass<in out Self, in out Id extends string, in out I, R>
  extends Context.ServiceClass<Self, Id, Pools<I>>
{
  /** The service, and {@link BufferPools} over the same devices. Fails as {@link layer}. */
  readonly layer: Layer.Layer<Self | BufferPools, GpuError, R>
  /** See `BufferPools.on`; the effect comes second here. */
  readonly on: <A, E, R2>(
    device: string,
    effect: Effect.Effect<A, E, R2>
  ) => Effect.Effect<A, E | GpuError, Exclude<R2, I> | Self>
  /** See `BufferPools.onDeviceOf`. */
  readonly onDeviceOf: <A, E, R2>(
    located: Located,
    effect: Effect.Effect<A, E, R2>
  ) => Effect.Effect<A, E | GpuError, Exclude<R2, I> | Self>
  /** See `BufferPools.open`. */
  readonly open: (device: string) => Effect.Effect<Context.Context<I>, GpuError, Self | Scope.Scope>
}

/**
 * A service of your own over several devices, for programs that use more on each than {@link Services}: a pool of images, the raw
 * handles of a backend, services of the program. `open` gives the layer for the name of a device, with all of these in it; the
 * pools of buffers and of staging memory are made on it, as the options say.
 *
 * Its layer provides {@link BufferPools} as well, over the same devices: so `DeviceArray.to` and the functions here work on them.
 *
 * **Example** (A pool of images on each device)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * class Gpus extends BufferPools.Service<Gpus>()(
 *   "app/Gpus",
 *   () => ImagePool.layer({ maxBytes: "64 MiB" }).pipe(Layer.provideMerge(Host.layer()))
 * ) {}
 *
 * Effect.all([Gpus.on("0", ImagePool.maxBytes), BufferPools.devices]).pipe(Effect.provide(Gpus.layer)) // => [67108864, ["0"]]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const Service = <Self>() =>
<const Id extends string, I, R = never, R2 = never>(
  id: Id,
  open: (device: string) => Layer.Layer<I | Device.Services, GpuError, R>,
  options?: Options<R2>
): ServiceClass<Self, Id, I | Services, R | R2> => {
  const tag = Context.Service<Self, Pools<I | Services>>()(id)
  const made = make<I, R, R2>({ operation: id, nameOf, open }, options)
  return Object.assign(tag, {
    layer: Layer.effectContext(
      Effect.map(made, (pools) => Context.add(Context.make(tag, pools), BufferPools, pools as Pools))
    ),
    on: <A, E, R3>(device: string, effect: Effect.Effect<A, E, R3>) => tag.use((pools) => pools.on(device, effect)),
    onDeviceOf: <A, E, R3>(located: Located, effect: Effect.Effect<A, E, R3>) =>
      tag.use((pools) => pools.onDeviceOf(located, effect)),
    open: (device: string) => tag.use((pools) => pools.open(device))
  })
}

type AnyEffect = Effect.Effect<unknown, unknown, unknown>

/** A function of a place and an effect that runs there, where the effect may also come in a pipe. */
const placeFirst = <F>(run: (pools: Pools, place: never, effect: AnyEffect) => AnyEffect): F => {
  const running = (place: never, effect: AnyEffect) => BufferPools.use((pools) => run(pools, place, effect))
  const at = (...given: readonly [never, AnyEffect] | readonly [never]): unknown =>
    given.length === 1 ? (effect: AnyEffect) => running(given[0], effect) : running(given[0], given[1])
  return at as F
}

/**
 * Runs an effect on a device, with everything that a program on that device alone would have: its queue, kernels and
 * images, its pool of buffers and its staging memory. The device is opened at its first use, for all who use it. It
 * stays open while the effect runs, and while something that the effect made is in the scope around it: leases, fibers,
 * whatever has a finalizer there.
 *
 * **Details**
 *
 * - When nobody uses it any more, it stays open for `idleTimeToLive` with its held memory, and is closed then. The next
 *   use opens it anew.
 * - When the device is lost, what the effect calls on it fails with DeviceLost, and the next `on` opens a fresh one.
 *   The effect is not retried automatically: `Effect.retry` with `Reconnecting.isDeviceLost` around `on` does that.
 * - `on` nests: the innermost device counts. Different devices work at the same time. Inside of an `on` of the same
 *   device it changes nothing: a budget or a further queue that the program has there stays.
 * - A lease that is transferred to another scope does not keep the device open there: {@link open} does.
 *
 * Fails as the effect; as the layer of the device when it cannot be opened, and the next use tries again; with
 * InvalidRequest for an invalid name; with DeviceUnavailable when the layer of this service is closed.
 *
 * **Example** (The same job on two devices at the same time)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const job = (value: number) =>
 *   BufferPool.use(64, (x) => Effect.andThen(CommandQueue.fill(x, value), CommandQueue.read(x, Uint32Array)))
 *
 * Effect.all([BufferPools.on("0", job(7)), job(8).pipe(BufferPools.on("1"))], { concurrency: 2 }).pipe(
 *   Effect.map((results) => results.map((numbers) => numbers[0])),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * ) // => [7, 8]
 * ```
 *
 * @see cupy.cuda.Device
 * @category accessors
 * @since 0.1.0
 */
export const on: {
  /**
   * Runs an effect on a device, with everything that a program on that device alone would have: its queue, kernels and images, its
   * pool of buffers and its staging memory. The device is opened at its first use, for all who use it. It stays open while the
   * effect runs, and while something that the effect made is in the scope around it: leases, fibers, whatever has a finalizer there.
   */
  (
    device: string
  ): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, Exclude<R, Services> | BufferPools>
  <A, E, R>(
    device: string,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, Exclude<R, Services> | BufferPools>
} = placeFirst((pools, device: string, effect) => pools.on(device, effect))

/**
 * Runs an effect on the device where something is: a buffer, a lease, or a value with leases, as a device array. That device is
 * open; it stays so while the effect runs, as with {@link on}.
 *
 * Fails as the effect; with InvalidRequest for what is on no device that is open here; with Released for a lease that has ended.
 *
 * **Example** (Reading a lease, wherever it is)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPools.on("1", Effect.tap(BufferPool.allocate(4), (x) => CommandQueue.fill(x, 7)))
 *   return (yield* BufferPools.onDeviceOf(x, CommandQueue.read(x, Uint32Array)))[0]
 * }).pipe(Effect.scoped, Effect.provide(BufferPools.layer(() => Host.layer()))) // => 7
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const onDeviceOf: {
  /**
   * Runs an effect on the device where something is: a buffer, a lease, or a value with leases, as a device array. That device is
   * open; it stays so while the effect runs, as with {@link on}.
   */
  (
    located: Located
  ): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | GpuError, Exclude<R, Services> | BufferPools>
  <A, E, R>(
    located: Located,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, Exclude<R, Services> | BufferPools>
} = placeFirst((pools, located: Located, effect) => pools.onDeviceOf(located, effect))

/**
 * Copies bytes from one buffer to another, on whichever open devices they are, and waits until the target's device has
 * them.
 *
 * **Details**
 *
 * On one device it is a command of its queue. Between two the bytes go through the memory of the program: chunk by
 * chunk they are read on one device, and go through the staging memory of the other. Few chunks are under way at a
 * time, so the buffers may have any size. A chunk is read after everything that was recorded before, on the queue in
 * context if it is one of the source's device, else on the first queue of that device: change neither buffer until the
 * copy has ended. Chunks copied before a failure stay in the target.
 *
 * Fails with InvalidRequest for bounds and alignment: offsets and sizes are multiples of 4, except that a copy may end
 * where both buffers do; for a buffer on no device that is open here; and for invalid chunk options. With LimitExceeded
 * for chunks larger than the staging pool; and with Released, DeviceLost, OutOfMemory or DriverError.
 *
 * **Example** (From device to device)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPools.on("0", Effect.tap(BufferPool.allocate(8), (x) => CommandQueue.fill(x, 7)))
 *   const y = yield* BufferPools.on("1", BufferPool.allocate(8))
 *   yield* BufferPools.copy(x, y)
 *   return Array.from(yield* BufferPools.onDeviceOf(y, CommandQueue.read(y, Uint32Array)))
 * }).pipe(Effect.scoped, Effect.provide(BufferPools.layer(() => Host.layer()))) // => [7, 7]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const copy: {
  /** Copies bytes from one buffer to another, on whichever open devices they are, and waits until the target's device has them. */
  (
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, BufferPools>
  (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ): Effect.Effect<void, GpuError, BufferPools>
} = eitherWay(
  bothBuffers,
  (source, target, options) => BufferPools.use((pools) => pools.copy(source, target, options))
)

/**
 * Frees the held blocks of both pools of a device, or of all open devices, and waits until the drivers have the memory.
 * Active leases stay. It opens no device, and does nothing for a device that is not open.
 *
 * Fails with InvalidRequest for an invalid name, and as `BufferPool.freeHeld`, after all other devices have freed their
 * blocks.
 *
 * **Example** (Before another program needs the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   for (const device of ["0", "1"]) yield* BufferPools.on(device, BufferPool.use(100, () => Effect.void))
 *   yield* BufferPools.freeHeld("0")
 *   const { devices, total } = yield* BufferPools.stats
 *   return [devices.get("0")?.buffers.heldBlocks, total.buffers.heldBlocks]
 * }).pipe(Effect.provide(BufferPools.layer(() => Host.layer()))) // => [0, 1]
 * ```
 *
 * @see cupy.cuda.MemoryPool.free_all_blocks
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld = (device?: string): Effect.Effect<void, GpuError, BufferPools> =>
  BufferPools.use((pools) => pools.freeHeld(device))
