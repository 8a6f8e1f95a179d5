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
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { functionProblem, membersOf, readValues, valid } from "../../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../../domain/arguments/KnownOptions.ts"
import { inOneLine, showing } from "../../../domain/arguments/Showing.ts"
import { shown } from "../../../domain/arguments/ShownValue.ts"
import * as Delay from "../../../domain/device/Delay.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import * as PoolStats from "../../../domain/pool/PoolStats.ts"
import * as BufferLike from "../../buffers/BufferLike.ts"
import * as BufferPool from "../../buffers/BufferPool.ts"
import { subjectFirst } from "../../buffers/SubjectFirst.ts"
import { checkedStep } from "../../calls/CheckedStep.ts"
import * as StagingPool from "../../staging/StagingPool.ts"
import type * as Device from "../Device.ts"
import { effectProblem, layerProblem, observed, scheduleProblem } from "../reconnecting/Given.ts"
import { deviceOf, open as openLayer } from "../reconnecting/Opening.ts"
import { copied, type CopyOptions, knownOfCopy } from "./DeviceCopy.ts"
import { OpenDevices } from "./OpenDevices.ts"
import { type Located, placeOf } from "./Place.ts"

export type { CopyOptions } from "./DeviceCopy.ts"
export type { Located } from "./Place.ts"

/** By this name editors show it, and so tell it from the services of others. */
type BufferPoolsServices = Device.Services | BufferPool.BufferPool | StagingPool.StagingPool

/**
 * What each device has: the services of its backend, a pool of buffers and a pool of staging memory.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = BufferPoolsServices

/**
 * The counters of both pools of a device, or of all devices.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceStats {
  readonly buffers: PoolStats.PoolStats
  readonly staging: PoolStats.PoolStats
}

/**
 * The counters of every open device, by its name, and their sums.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stats {
  readonly devices: ReadonlyMap<string, DeviceStats>
  /** Of the open devices. Its peaks are the sums of the devices' own, which each may have had at another time. */
  readonly total: DeviceStats
}

/**
 * The methods of the service; `I` is what each device has.
 *
 * **Example** (A function that works on any set of devices)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import type { BufferPools } from "effect-gpu-pool/devices"
 *
 * const warmUp = (pools: BufferPools.Pools, devices: ReadonlyArray<string>, bytes: number) =>
 *   Effect.forEach(devices, (device) => pools.on(device, BufferPool.use(bytes, () => Effect.void)), {
 *     concurrency: "unbounded",
 *     discard: true
 *   })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Pools<in out I = Services> {
  /** Runs an effect on a device. See {@link on}. */
  readonly on: <A, E, R>(
    device: string,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | GpuError, Exclude<R, I>>
  /** Runs an effect on the device of a buffer. See {@link onDeviceOf}. */
  readonly onDeviceOf: <A, E, R>(
    located: Located,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | GpuError, Exclude<R, I>>
  /** The services of a device, which stays open until the scope closes. See {@link open}. */
  readonly open: (device: string) => Effect.Effect<Context.Context<I>, GpuError, Scope.Scope>
  /** Copies bytes from one buffer to another, on any devices. See {@link copy}. */
  readonly copy: (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ) => Effect.Effect<void, GpuError>
  /** The open devices, in the order in which they were first used. */
  readonly devices: Effect.Effect<ReadonlyArray<string>>
  /** The counters of the open devices, and their sums. See {@link stats}. */
  readonly stats: Effect.Effect<Stats>
  /** Frees held memory of one open device, or of all. See {@link freeHeld}. */
  readonly freeHeld: (device?: string) => Effect.Effect<void, GpuError>
}

/**
 * The service.
 *
 * **Example** (Looking the service up once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = Effect.gen(function*() {
 *   const pools = yield* BufferPools.BufferPools
 *   const sizes = [256, 512].map((bytes, device) =>
 *     pools.on(String(device), BufferPool.use(bytes, (x) => Effect.succeed(x.size)))
 *   )
 *   return yield* Effect.all(sizes, { concurrency: "unbounded" })
 * })
 * await Effect.runPromise(Effect.provide(program, BufferPools.layer(() => Host.layer()))) // => [256, 512]
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class BufferPools extends Context.Service<BufferPools, Pools>()("effect-gpu-pool/BufferPools") {}

/**
 * How the pools of each device are made, how long an unused device stays open, and what follows a loss.
 *
 * **Example** (A large device and small ones)
 *
 * ```ts
 * import type { BufferPools } from "effect-gpu-pool/devices"
 *
 * const options: BufferPools.Options = {
 *   pool: (device) => ({ maxBytes: device === "0" ? "8 GiB" : "1 GiB", onExhausted: "wait" }),
 *   staging: { maxBytes: "64 MiB" },
 *   idleTimeToLive: "5 minutes"
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R = never> {
  /** The options of each device's `BufferPool.layer`, or a function that gives them by the device's name. */
  readonly pool?:
    | BufferPool.BufferPoolOptions
    | ((device: string) => BufferPool.BufferPoolOptions | undefined)
    | undefined
  /** The options of each device's `StagingPool.layer`, or a function that gives them by the device's name. */
  readonly staging?:
    | StagingPool.StagingPoolOptions
    | ((device: string) => StagingPool.StagingPoolOptions | undefined)
    | undefined
  /** How long a device that nobody uses stays open, with its held memory: a minute without it, `Infinity` to the end of the layer. */
  readonly idleTimeToLive?: Duration.Input | undefined
  /**
   * How often, and after which delays, an opening is tried again that failed with DeviceUnavailable or DeviceLost. Without it
   * there is one attempt. Other errors are not tried again.
   */
  readonly schedule?: Schedule.Schedule<unknown, GpuError, never, R> | undefined
  /**
   * Is told each loss: its error, the device, and how often that was opened since it was last idle, from 1. It runs on a fiber of
   * its own, and nothing waits for it. When it fails, that is logged.
   */
  readonly onLost?:
    | ((error: GpuError, device: string, generation: number) => Effect.Effect<unknown, unknown, R>)
    | undefined
}

/** @internal */
export const known = KnownOptions.of<Options>({
  pool: true,
  staging: true,
  idleTimeToLive: true,
  schedule: true,
  onLost: true
})

/** How the program says which device it means, and how that is opened. @internal */
export interface Opener<I, R> {
  readonly operation: string
  /** The one name of a device, of which a program may write several; or what is wrong with it. */
  readonly nameOf: (operation: string, device: string) => string | GpuError
  readonly open: (device: string) => Layer.Layer<I | Device.Services, GpuError, R>
}

/**
 * The service over layers that open one device each. `open` gives the layer for the name of a device, which is any text: two
 * names are two devices here, also where they lead to one piece of hardware. `Devices.layerPools` opens devices by the selections
 * that `GPU_POOL_DEVICE` takes.
 *
 * Fails with InvalidRequest for options that are none; opens no device. A device that cannot be opened fails the effect that
 * asked for it, and is tried anew by the next one.
 *
 * **Example** (The devices of OpenCL's first platform, by their indices)
 *
 * ```ts
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const gpus = BufferPools.layer((device) => OpenCl.layer({ platform: 0, device: Number(device) }), {
 *   pool: { maxBytes: "50%" }
 * })
 * ```
 *
 * @see cupy.cuda.MemoryPool
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never, R2 = never>(
  open: (device: string) => Layer.Layer<Device.Services, GpuError, R>,
  options?: Options<R2>
): Layer.Layer<BufferPools, GpuError, R | R2> =>
  Layer.effect(BufferPools, make<Device.Services, R, R2>({ operation: "BufferPools.layer", nameOf, open }, options))

const nameOf = (operation: string, device: string): string | GpuError =>
  typeof device === "string" && device !== ""
    ? device
    : invalidRequest(operation, `${shown(device)} was given for a device`, "Pass its name, a text that is not empty.")

/** @internal */
export const make = Effect.fnUntraced(function*<I, R, R2>(
  opener: Opener<I, R>,
  options: Options<R2> | undefined
): Effect.fn.Return<Pools<I | Services>, GpuError, R | R2 | Scope.Scope> {
  const { operation } = opener
  const given = readValues(operation, () => {
    valid(functionProblem(operation, "open", opener.open))
    const { idleTimeToLive = "1 minute", onLost, pool, schedule, staging } = valid(membersOf(operation, options, known))
    valid(scheduleProblem(operation, schedule))
    if (onLost !== undefined) valid(functionProblem(operation, "onLost", onLost))
    return {
      idleTimeToLive: valid(timeToLive(operation, idleTimeToLive)),
      onLost,
      schedule,
      layerOf: layerOf(opener, pool, staging)
    }
  })
  if (isGpuError(given)) return yield* given
  const { idleTimeToLive, layerOf: layerFor, onLost, schedule } = given
  const context = yield* Effect.context<R | R2>()
  const devices = yield* OpenDevices.make<I | Services>({
    operation,
    idleTimeToLive,
    open: (name, scope) =>
      Effect.suspend(() => {
        const layer = readValues(operation, () => layerFor(name))
        return isGpuError(layer) ? layer : openLayer(operation, layer, schedule, scope)
      }).pipe(Effect.provideContext(context)),
    onLost: (error, name, number) =>
      Effect.provideContext(
        observed(operation, `device ${shown(name)}`, onLost && (() => onLost(error, name, number))),
        context
      )
  })
  return poolsOf(devices, opener)
})

const timeToLive = (operation: string, given: Duration.Input): Duration.Duration | GpuError =>
  Delay.parse(given) ?? invalidRequest(
    operation,
    `idleTimeToLive ${shown(given)} is no duration`,
    `Pass milliseconds or a text such as "10 seconds", or leave it out.`
  )

/** A device, and the pools on it. */
const layerOf = <I, R, R2>(
  { open, operation }: Opener<I, R>,
  pool: Options<R2>["pool"],
  staging: Options<R2>["staging"]
) =>
(name: string): Layer.Layer<I | Services, GpuError, R> => {
  const device = open(name)
  valid(layerProblem(operation, device))
  return Layer.mergeAll(
    BufferPool.layer(typeof pool === "function" ? pool(name) : pool),
    StagingPool.layer(typeof staging === "function" ? staging(name) : staging)
  ).pipe(Layer.provideMerge(Layer.tap(device, (context) => {
    const opened = deviceOf(operation, context)
    return isGpuError(opened) ? opened : Effect.void
  })))
}

const poolsOf = <I, R>(devices: OpenDevices<I | Services>, { nameOf }: Opener<I, R>): Pools<I | Services> =>
  showing<Pools<I | Services>>(
    () => inOneLine("BufferPools", undefined, [`${devices.open.size} devices open`]),
    "BufferPools"
  )(
    {
      on: (device, effect) =>
        checkedStep("BufferPools.on", (operation) => {
          const name = valid(nameOf(operation, device))
          return effectProblem(operation, "it got", effect) ?? devices.on(name, effect)
        }),
      onDeviceOf: (located, effect) =>
        checkedStep("BufferPools.onDeviceOf", (operation) => {
          const { device, missing } = placeOf(operation, located)
          return effectProblem(operation, "it got", effect) ?? devices.onOwner(device, missing, effect)
        }),
      open: (device) =>
        checkedStep("BufferPools.open", (operation) => devices.contextOf(valid(nameOf(operation, device)))),
      copy: (source, target, options) =>
        checkedStep("BufferPools.copy", (operation) => copied(devices, operation, source, target, options)),
      devices: Effect.sync(() => Array.from(devices.open.keys())),
      stats: Effect.suspend(() => statsOf(devices.open)),
      freeHeld: (device) =>
        checkedStep("BufferPools.freeHeld", (operation) => {
          const names = device === undefined ? Array.from(devices.open.keys()) : [valid(nameOf(operation, device))]
          // One that fails leaves the others to free theirs.
          const exits = Effect.forEach(names, (name) => Effect.exit(devices.whileOpen(name, freed)), unbounded)
          return Effect.flatMap(exits, Exit.asVoidAll)
        })
    }
  )

const unbounded = { concurrency: "unbounded" } as const

const statsOf = (open: ReadonlyMap<string, Context.Context<Services>>): Effect.Effect<Stats> =>
  Effect.map(
    Effect.forEach(open, ([name, context]) =>
      Effect.map(
        Effect.all({
          buffers: Context.get(context, BufferPool.BufferPool).stats,
          staging: Context.get(context, StagingPool.StagingPool).stats
        }),
        (stats) => [name, stats] as const
      )),
    (each) => ({
      devices: new Map(each),
      total: {
        buffers: PoolStats.sum(each.map(([, { buffers }]) => buffers)),
        staging: PoolStats.sum(each.map(([, { staging }]) => staging))
      }
    })
  )

const freed = (context: Context.Context<Services>): Effect.Effect<void, GpuError> =>
  Effect.andThen(
    Context.get(context, BufferPool.BufferPool).freeHeld,
    Context.get(context, StagingPool.StagingPool).freeHeld
  )

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
 * Runs an effect on a device, with everything that a program on that device alone would have: its queue, kernels and images, its
 * pool of buffers and its staging memory. The device is opened at its first use, for all who use it. It stays open while the
 * effect runs, and while something that the effect made is in the scope around it: leases, fibers, whatever has a finalizer there.
 *
 * **Details**
 *
 * - When nobody uses it any more, it stays open for `idleTimeToLive` with its held memory, and is closed then. The next use opens
 *   it anew.
 * - When the device is lost, what the effect calls on it fails with DeviceLost, and the next `on` opens a fresh one. The effect is
 *   not run again by itself: `Effect.retry` with `Reconnecting.isDeviceLost` around `on` does that.
 * - `on` nests: the innermost device counts. Different devices work at the same time. Inside of an `on` of the same device it
 *   changes nothing: a budget or a further queue that the program has there stays.
 * - A lease that is transferred to another scope does not keep the device open there: {@link open} does.
 *
 * Fails as the effect; as the layer of the device when it cannot be opened, and the next use tries again; with InvalidRequest for
 * what is no name or no effect; with DeviceUnavailable when the layer of this service is closed.
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
 * The services of a device, which stays open until the caller's scope closes, whatever is left on it. For leases that are
 * transferred from scope to scope, and for programs that keep a device open on purpose. Errors as {@link on}.
 *
 * **Example** (A device that is opened at the start, and no more closed)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   const services = yield* BufferPools.open("0")
 *   yield* Effect.provideContext(CommandQueue.finish, services)
 *   return yield* BufferPools.devices
 * }).pipe(Effect.scoped, Effect.provide(BufferPools.layer(() => Host.layer(), { idleTimeToLive: 0 }))) // => ["0"]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const open = (
  device: string
): Effect.Effect<Context.Context<Services>, GpuError, BufferPools | Scope.Scope> =>
  BufferPools.use((pools) => pools.open(device))

/**
 * Copies bytes from one buffer to another, on whichever open devices they are, and waits until the target's device has them.
 *
 * **Details**
 *
 * On one device it is a command of its queue. Between two the bytes go through the memory of the program: chunk by chunk they are
 * read on one device, and go through the staging memory of the other. Few chunks are under way at a time, so that any size passes.
 * Each chunk has what was recorded before it is read, on the queue in context if that is one of the source's device, and else on
 * its first queue: change neither buffer until the copy has ended. Chunks that went before a
 * failure stay in the target.
 *
 * Fails with InvalidRequest for bounds and alignment: offsets and sizes are multiples of 4, except that a copy may end where both
 * buffers do; for a buffer on no device that is open here; and for chunks that are none. With LimitExceeded for chunks larger than
 * the staging pool; and with Released, DeviceLost, OutOfMemory or DriverError.
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
} = dual(
  subjectFirst(2, BufferLike.isBufferLike, knownOfCopy),
  (
    source: BufferLike.BufferLike,
    target: BufferLike.BufferLike,
    options?: CopyOptions
  ): Effect.Effect<void, GpuError, BufferPools> => BufferPools.use((pools) => pools.copy(source, target, options))
)

/**
 * The names of the open devices, in the order in which they were first used. One that opens or is lost is not among them.
 *
 * **Example** (Devices are opened at their first use)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.all([BufferPools.devices, BufferPools.on("1", CommandQueue.finish), BufferPools.devices]).pipe(
 *   Effect.map(([before, , after]) => [before, after]),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * ) // => [[], ["1"]]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const devices: Effect.Effect<ReadonlyArray<string>, never, BufferPools> = BufferPools.use((pools) =>
  pools.devices
)

/**
 * The counters of the open devices, by name, and their sums. It opens no device, and keeps none open.
 *
 * **Example** (Bytes in use on all devices together)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   yield* BufferPools.on("0", BufferPool.allocate(100))
 *   yield* BufferPools.on("1", BufferPool.allocate(200))
 *   const { devices, total } = yield* BufferPools.stats
 *   return [devices.get("0")?.buffers.activeBytes, total.buffers.activeBytes]
 * }).pipe(Effect.scoped, Effect.provide(BufferPools.layer(() => Host.layer()))) // => [100, 300]
 * ```
 *
 * @see cupy.cuda.MemoryPool.used_bytes
 * @category accessors
 * @since 0.1.0
 */
export const stats: Effect.Effect<Stats, never, BufferPools> = BufferPools.use((pools) => pools.stats)

/**
 * Frees the held blocks of both pools of a device, or of all open devices, and waits until the drivers have the memory. Active
 * leases stay. It opens no device; where the device is not open there is nothing to free.
 *
 * Fails with InvalidRequest for what is no name, and as `BufferPool.freeHeld`, after all other devices have freed theirs.
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
