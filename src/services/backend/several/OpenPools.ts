/**
 * Pools of several devices, from what opens each of them.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { attempt, valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../../domain/arguments/Format.ts"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { inOneLine, showing } from "../../../domain/arguments/Showing.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import * as PoolStats from "../../../domain/pool/PoolStats.ts"
import type * as BufferLike from "../../buffers/BufferLike.ts"
import * as BufferPool from "../../buffers/BufferPool.ts"
import { validated } from "../../calls/Validated.ts"
import * as StagingPool from "../../staging/StagingPool.ts"
import type * as Device from "../Device.ts"
import { deviceOf, observed, open as openLayer } from "../reconnecting/Opening.ts"
import { copied, type CopyOptions } from "./DeviceCopy.ts"
import { kept, OpenDevices, run } from "./OpenDevices.ts"
import { type Located, placeOf } from "./Place.ts"

/** Editors show the union under this name, which differs from the `Services` of other modules. */
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
  /**
   * Sums over the open devices. A peak is the sum of the devices' peaks, which they may have had at different times.
   */
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
   * Called at each loss with its error, the device, and how often the device was opened since it was last idle, from 1.
   * It runs on a fiber of its own, and nothing waits for it. A failure of it is logged.
   */
  readonly onLost?:
    | ((error: GpuError, device: string, generation: number) => Effect.Effect<unknown, unknown, R>)
    | undefined
}

/** The options as a Schema: the pools of each device check their own. */
export const optionsOf = <R>() =>
  Schema.Struct({
    pool: LayerOptions.any<NonNullable<Options<R>["pool"]>>(),
    staging: LayerOptions.any<NonNullable<Options<R>["staging"]>>(),
    idleTimeToLive: LayerOptions.duration(),
    schedule: LayerOptions.any<NonNullable<Options<R>["schedule"]>>(),
    onLost: LayerOptions.callback<NonNullable<Options<R>["onLost"]>>()
  })

/** How device names are resolved, and how a device is opened. */
export interface Opener<I, R> {
  readonly operation: string
  /** The canonical name of a device, or why the name is invalid. */
  readonly nameOf: (operation: string, device: string) => string | GpuError
  readonly open: (device: string) => Layer.Layer<I | Device.Services, GpuError, R>
}

/**
 * The service over layers that open one device each. `open` gives the layer for the name of a device, which is any
 * text: two names are two devices here, also where both name the same hardware. `Devices.layerPools` opens devices by
 * the selections that `GPU_POOL_DEVICE` takes.
 *
 * Fails with InvalidRequest for invalid options; opens no device. A device that cannot be opened fails the effect that
 * asked for it, and the next effect tries again.
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

export const nameOf = (operation: string, device: string): string | GpuError =>
  typeof device === "string" && device !== ""
    ? device
    : invalidRequest(operation, `the device ${formatted(device)} is no name`, "Pass a text that is not empty.")

/** The pools by name, over devices that open at their first use. */
export const make = Effect.fnUntraced(function*<I, R, R2>(
  opener: Opener<I, R>,
  options: Options<R2> | undefined
): Effect.fn.Return<Pools<I | Services>, GpuError, R | R2 | Scope.Scope> {
  const { operation } = opener
  const read = LayerOptions.read(operation, optionsOf<R2>(), options)
  if (isGpuError(read)) return yield* read
  const { idleTimeToLive = "1 minute", onLost, pool, schedule, staging } = read
  const layerFor = layerOf(opener, pool, staging)
  const context = yield* Effect.context<R | R2>()
  const devices = yield* OpenDevices.make<I | Services>({
    operation,
    idleTimeToLive: Duration.fromInputUnsafe(idleTimeToLive),
    of: (name) => ({
      operation,
      open: (scope) =>
        Effect.suspend(() => {
          const layer = attempt(() => layerFor(name))
          return isGpuError(layer) ? layer : openLayer(operation, layer, schedule, scope)
        }).pipe(Effect.provideContext(context)),
      onLost: (error, number) =>
        Effect.provideContext(
          observed(operation, `device ${formatted(name)}`, onLost && (() => onLost(error, name, number))),
          context
        )
    })
  })
  return poolsOf(devices, opener)
})

/** A device, and the pools on it. */
const layerOf = <I, R, R2>(
  { open, operation }: Opener<I, R>,
  pool: Options<R2>["pool"],
  staging: Options<R2>["staging"]
) =>
(name: string): Layer.Layer<I | Services, GpuError, R> => {
  const device = open(name)
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
        validated("BufferPools.on", (operation) => run(devices.named(valid(nameOf(operation, device))), effect)),
      onDeviceOf: (located, effect) =>
        validated("BufferPools.onDeviceOf", (operation) => {
          const { device, missing } = placeOf(operation, located)
          return run(devices.ofOwner(device, missing), effect)
        }),
      open: (device) =>
        validated("BufferPools.open", (operation) => kept(devices.named(valid(nameOf(operation, device))))),
      copy: (source, target, options) =>
        validated("BufferPools.copy", (operation) => copied(devices, operation, source, target, options)),
      devices: Effect.sync(() => Array.from(devices.open.keys())),
      stats: Effect.suspend(() => statsOf(devices.open)),
      freeHeld: (device) =>
        validated("BufferPools.freeHeld", (operation) => {
          const names = device === undefined ? Array.from(devices.open.keys()) : [valid(nameOf(operation, device))]
          // A failure on one device does not stop the others.
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
 * The services of a device, which stays open until the caller's scope closes. For leases that are transferred from
 * scope to scope, and for programs that keep a device open on purpose. Errors as {@link on}.
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
 * The names of the open devices, in the order in which they were first used. A device that is being opened or is lost
 * is not among them.
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
