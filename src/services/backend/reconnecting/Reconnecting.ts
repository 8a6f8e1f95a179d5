/**
 * Programs that survive the loss of a device: the next effect runs on a fresh one.
 *
 * **Details**
 *
 * Everything made on a device is lost with it: leases, pools, compiled kernels. The services of a device are fixed
 * values, so they cannot be replaced one by one. Together they are a generation, a layer that is built again as a
 * whole. `provide` runs an effect on the current generation and opens one where there is none: at the first use, and at
 * the first use after a loss.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { inOneLine, showing } from "../../../domain/arguments/Showing.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import * as BufferPool from "../../buffers/BufferPool.ts"
import type { DeviceContext } from "../../device/DeviceContext.ts"
import type * as Device from "../Device.ts"
import { Generations as GenerationsOf } from "./Generations.ts"
import { observed, open } from "./Opening.ts"

/**
 * The service: devices one after another, each with what `I` names.
 *
 * @category models
 * @since 0.1.0
 */
export interface Generations<I, E = never> {
  /**
   * Runs an effect on the current generation. The effect keeps that generation until it ends: when the device is lost,
   * its calls fail with DeviceLost. It is not retried automatically.
   *
   * Opens a generation where there is none. Effects that come meanwhile wait for the same one, whichever of them is
   * interrupted. Fails as the layer of the generation when the schedule gives up, and with DeviceUnavailable when the
   * layer of this service is closed.
   */
  readonly provide: <A, E2, R>(effect: Effect.Effect<A, E2, R>) => Effect.Effect<A, E | E2 | GpuError, Exclude<R, I>>
  /** How many generations have been opened: the number of the last one, and 0 before the first. */
  readonly generation: Effect.Effect<number>
}

/**
 * What follows a loss.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<E = GpuError, R = never> {
  /**
   * How often, and after which delays, an opening is tried again that failed with DeviceUnavailable or DeviceLost. Without it
   * there is one attempt. Other errors are not tried again.
   */
  readonly schedule?: Schedule.Schedule<unknown, E | GpuError, never, R> | undefined
  /**
   * Called at each loss with its error and the number of the generation, from 1. It runs on a fiber of its own, and
   * nothing waits for it. A failure of it is logged; when the layer closes, it is interrupted. Closing the layer of a
   * device is no loss.
   */
  readonly onLost?: ((error: GpuError, generation: number) => Effect.Effect<unknown, unknown, R>) | undefined
}

/**
 * What a generation is, and what follows its loss.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceOptions<I, E, R> extends Options<E, R> {
  /** A device, and everything that is built on it. Each generation builds it anew. */
  readonly layer: Layer.Layer<I | DeviceContext, E, R>
}

/**
 * A service of {@link Service}, with its layer and accessors.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServiceClass<in out Self, in out Id extends string, I, E, R>
  extends Context.ServiceClass<Self, Id, Generations<I, E>>
{
  /**
   * Fails with InvalidRequest for invalid options. Opens no device. When the layer closes, it closes the current
   * device.
   */
  readonly layer: Layer.Layer<Self, GpuError, R>
  /** See {@link Generations}. */
  readonly provide: <A, E2, R2>(
    effect: Effect.Effect<A, E2, R2>
  ) => Effect.Effect<A, E | E2 | GpuError, Exclude<R2, I> | Self>
  /** See {@link Generations}. */
  readonly generation: Effect.Effect<number, never, Self>
}

/**
 * A service for generations of your own: whatever the layer provides is opened together, and lost together. The layer
 * must have a device in it, and each generation builds all of it anew.
 *
 * **Gotchas**
 *
 * What an effect has made on one generation is of no use on the next one: upload anew. A lost generation closes when
 * the last effect on it has ended, so an effect that never notices a loss keeps its memory. `DeviceContext.lost`
 * completes at the loss.
 *
 * **Example** (Two pools, and a job that is done again on a fresh device)
 *
 * ```ts
 * import { Effect, Layer, Schedule } from "effect"
 * import { BufferPool, CommandQueue, Reconnecting } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { ImagePool } from "effect-gpu-pool/images"
 *
 * class Gpu extends Reconnecting.Service<Gpu>()("app/Gpu", {
 *   layer: Layer.mergeAll(BufferPool.layer(), ImagePool.layer()).pipe(Layer.provideMerge(Host.layer())),
 *   schedule: Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: 5 })),
 *   onLost: (error, generation) => Effect.logWarning(`device ${generation}: ${error.message}`)
 * }) {}
 *
 * const faults = Host.Host.useSync((host) => host.faults)
 * const job = Effect.gen(function*() {
 *   const buffer = yield* BufferPool.allocate(64)
 *   if ((yield* Gpu.generation) === 1) (yield* faults).lose()
 *   yield* CommandQueue.fill(buffer, 7)
 *   return (yield* CommandQueue.read(buffer, Uint32Array))[0]
 * }).pipe(Effect.scoped)
 *
 * Gpu.provide(job).pipe(
 *   Effect.retry({ while: Reconnecting.isDeviceLost, times: 3 }),
 *   Effect.provide(Gpu.layer)
 * ) // => 7
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const Service =
  <Self>() =>
  <const Id extends string, I, E, R>(id: Id, options: ServiceOptions<I, E, R>): ServiceClass<Self, Id, I, E, R> => {
    const tag = Context.Service<Self, Generations<I, E>>()(id)
    return Object.assign(tag, {
      layer: Layer.effect(tag, make(id, options)),
      provide: <A, E2, R2>(effect: Effect.Effect<A, E2, R2>) => tag.use((generations) => generations.provide(effect)),
      generation: tag.use((generations) => generations.generation)
    })
  }

/** Editors show the union under this name, which differs from the `Services` of other modules. */
type ReconnectingServices = Device.Services | BufferPool.BufferPool

/**
 * What a generation of {@link Reconnecting} has: a device of any backend, and a pool of buffers on it.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = ReconnectingServices

/**
 * The service that {@link layer} provides over any backend, so that tests put the host in the place of a GPU.
 *
 * **Example** (Asking for it)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, Reconnecting } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const size = Reconnecting.Reconnecting.use((gpu) => gpu.provide(BufferPool.use(64, (x) => Effect.succeed(x.size))))
 * await Effect.runPromise(Effect.provide(size, Reconnecting.layer(Host.layer()))) // => 64
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class Reconnecting
  extends Context.Service<Reconnecting, Generations<Services>>()("effect-gpu-pool/Reconnecting")
{}

/**
 * Runs an effect on the current device, with its pool. The effect keeps that device until it ends: when the device is
 * lost, its calls fail with DeviceLost. It is not retried automatically: use `Effect.retry` around `provide`.
 *
 * Opens a device where there is none, at the first use and after a loss. Effects that come meanwhile wait for the same
 * one, whichever of them is interrupted. Fails as the layer of the backend when the schedule gives up, and with
 * DeviceUnavailable when the layer is closed.
 *
 * **Example** (A job that is done again on a fresh device)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, Reconnecting } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const faults = Host.makeFaults()
 * faults.loseAt(2)
 * const job = BufferPool.use(64, (buffer) =>
 *   Effect.andThen(CommandQueue.fill(buffer, 7), CommandQueue.read(buffer, Uint32Array)))
 *
 * Reconnecting.provide(job).pipe(
 *   Effect.retry({ while: Reconnecting.isDeviceLost, times: 3 }),
 *   Effect.andThen(Reconnecting.generation),
 *   Effect.provide(Reconnecting.layer(Host.layer({ faults })))
 * ) // => 2
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const provide = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, Exclude<R, Services> | Reconnecting> =>
  Reconnecting.use((generations) => generations.provide(effect))

/**
 * How many devices have been opened: the number of the last one, and 0 before the first.
 *
 * **Example** (A device is opened at its first use)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, Reconnecting } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.all([Reconnecting.generation, Reconnecting.provide(CommandQueue.finish), Reconnecting.generation]).pipe(
 *   Effect.map(([before, , after]) => [before, after]),
 *   Effect.provide(Reconnecting.layer(Host.layer()))
 * ) // => [0, 1]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const generation: Effect.Effect<number, never, Reconnecting> = Reconnecting.use((generations) =>
  generations.generation
)

/**
 * Whether an error says that a device is lost, for `while` of `Effect.retry` around `provide`.
 *
 * **Example** (At most three devices for one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Reconnecting } from "effect-gpu-pool"
 *
 * const again = Effect.retry({ while: Reconnecting.isDeviceLost, times: 2 })
 * ```
 *
 * @category guards
 * @since 0.1.0
 */
export const isDeviceLost = (error: unknown): error is GpuError =>
  isGpuError(error) && error.reason._tag === "DeviceLost"

/**
 * How the pool of each device is made, and what follows a loss.
 *
 * @category models
 * @since 0.1.0
 */
export interface PooledOptions<R = never> extends Options<GpuError, R> {
  /** The options of each generation's `BufferPool.layer`. */
  readonly pool?: BufferPool.BufferPoolOptions | undefined
}

/**
 * The service {@link Reconnecting} over the layer of any backend, or over any other that opens a device: it opens one,
 * with a pool of buffers, at the first use, and again at the first use after it was lost. Fails with InvalidRequest for
 * invalid options; a device that cannot be opened fails {@link provide}.
 *
 * **Example** (A page whose device may be taken from it, and the device that the user chose)
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Reconnecting } from "effect-gpu-pool"
 * import { Devices } from "effect-gpu-pool/devices"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const page = Reconnecting.layer(WebGpu.layer({ powerPreference: "high-performance" }), {
 *   schedule: Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: 5 })),
 *   onLost: (error) => Effect.logWarning(error.message)
 * })
 * const chosen = Reconnecting.layer(Devices.layerDefault(), { pool: { maxBytes: "50%" } })
 * ```
 *
 * @see https://www.w3.org/TR/webgpu/#lose-the-device
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <R = never, R2 = never>(
  device: Layer.Layer<Device.Services, GpuError, R>,
  options?: PooledOptions<R2>
): Layer.Layer<Reconnecting, GpuError, R | R2> =>
  Layer.effect(
    Reconnecting,
    Effect.suspend(() => {
      const operation = "Reconnecting.layer"
      const schema = Schema.Struct({
        ...optionsOf<GpuError, R2>(),
        pool: LayerOptions.any<BufferPool.BufferPoolOptions>()
      })
      const given = LayerOptions.read(operation, schema, options)
      if (isGpuError(given)) return given
      const { onLost, pool, schedule } = given
      return make<Services, GpuError, R | R2>(operation, {
        layer: BufferPool.layer(pool).pipe(Layer.provideMerge(device)),
        onLost,
        schedule
      })
    })
  )

const make = Effect.fnUntraced(function*<I, E, R>(
  operation: string,
  options: ServiceOptions<I, E, R>
): Effect.fn.Return<Generations<I, E>, GpuError, R | Scope.Scope> {
  const schema = Schema.Struct({
    ...optionsOf<E, R>(),
    layer: LayerOptions.any<ServiceOptions<I, E, R>["layer"]>()
  })
  const given = LayerOptions.read(operation, schema, options)
  if (isGpuError(given)) return yield* given
  const { layer, onLost, schedule } = given
  const context = yield* Effect.context<R>()
  const generations = new GenerationsOf<I, E>(
    {
      operation,
      open: (scope) => Effect.provideContext(open(operation, layer!, schedule, scope), context),
      onLost: (error, number) =>
        Effect.provideContext(observed(operation, `device ${number}`, onLost && (() => onLost(error, number))), context)
    },
    context,
    yield* Effect.scope
  )
  yield* Effect.addFinalizer(() => generations.close)
  return showing<Generations<I, E>>(
    () => inOneLine("Reconnecting", undefined, [`${generations.opened} devices opened`]),
    "Reconnecting"
  )({
    provide: (effect) => generations.provide(effect),
    generation: Effect.sync(() => generations.opened)
  })
})

const optionsOf = <E, R>() => ({
  schedule: LayerOptions.any<NonNullable<Options<E, R>["schedule"]>>(),
  onLost: LayerOptions.callback<NonNullable<Options<E, R>["onLost"]>>()
})
