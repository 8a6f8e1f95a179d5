/**
 * GPU memory of many hosts: reservations on whichever host has the bytes free, and jobs in them.
 *
 * A program asks the fleet for bytes, not for a host. A broker, which runs on one of the hosts and moves when that host dies, knows the
 * free bytes of all devices, and places each reservation, or lets it wait in one fair queue. The host then grants it within its own pool.
 * Data moves as bytes; buffers never leave their host.
 *
 * @since 0.1.0
 */
import type { BufferPools } from "effect-gpu-pool/BufferPools"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import type {
  FleetMethods,
  MapOptions,
  RangeOptions,
  Reservation,
  ReserveOptions,
  RunOptions
} from "./client/FleetMethods.ts"
import * as ClusterFleet from "./ClusterFleet.ts"
import type { DurableMethods } from "./durable/DurableMethods.ts"
import { DurableJobs } from "./DurableJob.ts"
import type { Job } from "./FleetJob.ts"
import type { HostOptions } from "./host/HostOptions.ts"
import * as LayerChecks from "./LayerChecks.ts"
import * as LocalFleet from "./LocalFleet.ts"
import type { Address, FleetBuffer, FleetStatus, Where } from "./protocol/FleetModel.ts"
import * as Timing from "./protocol/Timing.ts"

export type {
  FleetMethods,
  MapOptions,
  RangeOptions,
  Reservation,
  ReserveOptions,
  RunOptions
} from "./client/FleetMethods.ts"
export type { DeviceOptions, HostOptions } from "./host/HostOptions.ts"

/**
 * The service.
 *
 * @category services
 * @since 0.1.0
 */
export class Fleet extends Context.Service<Fleet, FleetMethods>()("@effect-gpu-pool/fleet/Fleet") {}

/**
 * Reserves bytes of some device until the scope closes. It waits, in the order of the calls, while no device has them free.
 *
 * Fails with OutOfMemory when it does not wait, or has waited for `waitAtMost`; LimitExceeded when no device that it may be on has so
 * many bytes; DeviceUnavailable when no host has such a device, and it does not wait; InvalidRequest.
 *
 * **Example** (Two jobs in one reservation)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { Fleet, FleetJob } from "@effect-gpu-pool/fleet"
 *
 * const Double = FleetJob.make("Double", { input: Schema.Number, output: Schema.Number, bytes: 4 })
 * const double = FleetJob.handler(Double, (x) => Effect.succeed(2 * x))
 *
 * const program = Effect.scoped(Effect.gen(function*() {
 *   const within = yield* Fleet.reserve({ bytes: 1024 })
 *   return yield* Fleet.run(Double, yield* Fleet.run(Double, 3, { within }), { within })
 * }))
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [double] })
 * await Effect.runPromise(program.pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * )) // => 12
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const reserve = (options: ReserveOptions): Effect.Effect<Reservation, GpuError, Fleet | Scope.Scope> =>
  Fleet.use((fleet) => fleet.reserve(options))

/**
 * Runs a job on some host, in a reservation of its own or in one of the program (`within`).
 *
 * When the host or its device is lost it runs again, on whichever host has room: an idempotent job always, another one while nothing of it
 * can have run. When the calling fiber is interrupted, the job is interrupted on its host.
 *
 * Fails as the job; as {@link reserve}; with HostLost or DeviceLost when it may not run again; Unsupported where the host does not run
 * such a job; InvalidRequest for an input that is not as its schema says.
 *
 * **Example** (A job on whichever host has room)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { Fleet, FleetJob } from "@effect-gpu-pool/fleet"
 *
 * const Fill = FleetJob.make("Fill", {
 *   input: Schema.Struct({ words: Schema.Int, value: Schema.Int }),
 *   output: Schema.Uint8Array,
 *   bytes: ({ words }) => 4 * words,
 *   isIdempotent: true
 * })
 * const fill = FleetJob.handler(Fill, ({ value, words }) =>
 *   BufferPool.use(4 * words, (x) =>
 *     Effect.andThen(CommandQueue.fill(x, value), CommandQueue.read(x, Uint8Array))))
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [fill] })
 * const bytes = await Effect.runPromise(Fleet.run(Fill, { words: 2, value: 7 }).pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * ))
 * Array.from(bytes) // => [7, 0, 0, 0, 7, 0, 0, 0]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <Input, Output, Failure>(
  job: Job<Input, Output, Failure>,
  input: Input,
  options?: RunOptions
): Effect.Effect<Output, Failure | GpuError, Fleet> => Fleet.use((fleet) => fleet.run(job, input, options))

/**
 * Runs a job for each input, as many at the same time as `concurrency` says. The outputs come in the order of the inputs, or as the jobs
 * end. A slow reader of the stream slows the jobs. It fails with the first failure, and interrupts the other jobs.
 *
 * **Example** (Three jobs, in the order of the inputs)
 *
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { Fleet, FleetJob } from "@effect-gpu-pool/fleet"
 *
 * const Square = FleetJob.make("Square", { input: Schema.Number, output: Schema.Number, bytes: 4 })
 * const square = FleetJob.handler(Square, (x) => Effect.succeed(x * x))
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [square] })
 * await Effect.runPromise(Stream.runCollect(Fleet.map(Square, [1, 2, 3], { concurrency: 2 })).pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * )) // => [1, 4, 9]
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const map = <Input, Output, Failure, E = never, R = never>(
  job: Job<Input, Output, Failure>,
  inputs: Iterable<Input> | Stream.Stream<Input, E, R>,
  options: MapOptions
): Stream.Stream<Output, Failure | GpuError | E, Fleet | R> =>
  Stream.unwrap(Fleet.useSync((fleet) => fleet.map(job, inputs, options)))

/**
 * Allocates a buffer in a reservation, on its host. Its bytes draw from the reservation, with which it ends. Jobs get the buffer by
 * `FleetJob.CurrentHost`.
 *
 * Fails with OutOfMemory, HostLost, InvalidRequest.
 *
 * **Example** (Data that several jobs use where it is)
 *
 * ```ts
 * import { Effect, Schema, Stream } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { Fleet, FleetJob, FleetModel } from "@effect-gpu-pool/fleet"
 *
 * const First = FleetJob.make("First", { input: FleetModel.FleetBuffer, output: Schema.Number, bytes: 4 })
 * const first = FleetJob.handler(First, (buffer) =>
 *   FleetJob.CurrentHost.pipe(
 *     Effect.flatMap((host) => host.buffer(buffer)),
 *     Effect.flatMap((lease) => CommandQueue.read(lease, Uint8Array)),
 *     Effect.map((bytes) => bytes[0]!)
 *   ))
 *
 * const program = Effect.scoped(Effect.gen(function*() {
 *   const within = yield* Fleet.reserve({ bytes: 1024 })
 *   const buffer = yield* Fleet.allocate(within, 8)
 *   yield* Fleet.write(buffer, new Uint8Array([5, 6, 7, 8, 9, 10, 11, 12]))
 *   const all = yield* Stream.mkUint8Array(Fleet.read(buffer))
 *   return [yield* Fleet.run(First, buffer, { within }), all.length]
 * }))
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } }, jobs: [first] })
 * await Effect.runPromise(program.pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * )) // => [5, 8]
 * ```
 *
 * @category data
 * @since 0.1.0
 */
export const allocate = (
  reservation: Reservation,
  bytes: number,
  options?: { readonly label?: string | undefined }
): Effect.Effect<FleetBuffer, GpuError, Fleet> => Fleet.use((fleet) => fleet.allocate(reservation, bytes, options))

/**
 * Writes bytes into a buffer, in chunks: the next one is sent when the host has written the one before. Offsets are multiples of 4, and
 * so is the length of each chunk but the last.
 *
 * Fails as the stream; with Released for a buffer that has ended, HostLost, InvalidRequest.
 *
 * @category data
 * @since 0.1.0
 */
export const write = <E = never, R = never>(
  buffer: FleetBuffer,
  data: Uint8Array | Stream.Stream<Uint8Array, E, R>,
  options?: Pick<RangeOptions, "offset">
): Effect.Effect<void, GpuError | E, Fleet | R> => Fleet.use((fleet) => fleet.write(buffer, data, options))

/**
 * The bytes of a buffer, in chunks: the host reads the next one when the program has taken the one before.
 *
 * Fails with Released for a buffer that has ended, HostLost, InvalidRequest.
 *
 * @category data
 * @since 0.1.0
 */
export const read = (buffer: FleetBuffer, options?: RangeOptions): Stream.Stream<Uint8Array, GpuError, Fleet> =>
  Stream.unwrap(Fleet.useSync((fleet) => fleet.read(buffer, options)))

/**
 * Gives a buffer back before its reservation ends. A second call does nothing.
 *
 * Fails with Released when its reservation has ended, HostLost, InvalidRequest.
 *
 * @category data
 * @since 0.1.0
 */
export const free = (buffer: FleetBuffer): Effect.Effect<void, GpuError, Fleet> =>
  Fleet.use((fleet) => fleet.free(buffer))

/**
 * Where a buffer is, for reservations and jobs near its data. Of what is no buffer it is a `where` that fails with InvalidRequest.
 *
 * @category data
 * @since 0.1.0
 */
export const near = (buffer: FleetBuffer): Where => {
  // Of what is no buffer the members are undefined, and the call that gets them fails.
  const { device, host } = Object(buffer) as FleetBuffer
  return { device, host }
}

/**
 * The hosts with their devices, and the reservations that wait, as the broker knows them.
 *
 * Fails with DeviceUnavailable when no broker answers within `hostTimeout`.
 *
 * **Example** (Free bytes of all devices)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { Fleet } from "@effect-gpu-pool/fleet"
 *
 * const local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } } })
 * const status = await Effect.runPromise(Fleet.status.pipe(
 *   Effect.provide(local),
 *   Effect.provide(BufferPools.layer(() => Host.layer()))
 * ))
 * status.hosts.flatMap(({ devices }) => devices.map(({ capacity, reservedBytes }) => capacity - reservedBytes)) // => [4096]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const status: Effect.Effect<FleetStatus, GpuError, Fleet> = Fleet.use((fleet) => fleet.status)

/** A layer of both services. */
const layerOf = <E, R>(
  methods: Effect.Effect<{ readonly fleet: FleetMethods; readonly durable: DurableMethods }, E, R>
): Layer.Layer<Fleet | DurableJobs, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(
    Effect.map(methods, ({ durable, fleet }) => Context.add(Context.make(Fleet, fleet), DurableJobs, durable))
  )

/**
 * The times of a fleet, and the devices and jobs of its one host.
 *
 * @category models
 * @since 0.1.0
 */
export interface LocalOptions<R = never> extends HostOptions<R> {
  readonly timing?: Timing.Options | undefined
}

/**
 * A fleet within this process, without sockets and storage: for tests, and for programs that may become a fleet by another layer.
 *
 * Fails with InvalidRequest for options that are none, and as the devices when they are opened.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerLocal = <R = never>(
  options: LocalOptions<R>
): Layer.Layer<Fleet | DurableJobs, GpuError, BufferPools | Exclude<R, Scope.Scope>> =>
  layerOf(Effect.gen(function*() {
    yield* LayerChecks.local(options)
    return yield* LocalFleet.make([options], yield* Timing.make(options.timing, "Fleet.layerLocal"))
  }))

/**
 * How a process of a fleet finds the others, and is one of them: the shared secret, and the times, which must be the same in all.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientOptions {
  /**
   * What all processes of the fleet know. Connections are encrypted with keys made of it, and one that does not know it is refused.
   * A random text, for example of 32 bytes.
   */
  readonly secret: Redacted.Redacted<string>
  /** After which times the fleet acts. Default: those of `Timing`. */
  readonly timing?: Timing.Options | undefined
}

/**
 * A program that uses a fleet and offers no device. It finds the fleet by its database: `FleetStorage.sqlite` on one machine, or
 * PostgreSQL by the client of `@effect/sql-pg`.
 *
 * Fails with InvalidRequest for an ill-formed secret, and with DriverError when the database does not answer.
 *
 * **Example** (The program of `run`, on the hosts of a fleet)
 *
 * ```ts no-run
 * import { Effect, Layer, Redacted } from "effect"
 * import { Fleet, FleetStorage } from "@effect-gpu-pool/fleet"
 *
 * const fleet = Fleet.layerClient({ secret: Redacted.make(process.env.FLEET_SECRET ?? "") }).pipe(
 *   Layer.provide(FleetStorage.sqlite("fleet.db"))
 * )
 * await Effect.runPromise(Effect.provide(Fleet.status, fleet))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerClient = (options: ClientOptions): Layer.Layer<Fleet | DurableJobs, GpuError, SqlClient> =>
  layerOf(Effect.gen(function*() {
    yield* LayerChecks.client(options)
    const { timing, ...others } = options
    return yield* ClusterFleet.user("Fleet.layerClient", others, yield* Timing.make(timing, "Fleet.layerClient"))
  }))

/**
 * What a host is, where the others reach it, and how it finds them.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClusterHostOptions<R = never> extends HostOptions<R>, ClientOptions {
  /** Where the other processes reach it. Port 0 is any free one. */
  readonly address: Address
  /** Where it listens, if that is not the same address. */
  readonly listen?: Address | undefined
}

/**
 * Makes this process a host of a fleet: it offers its devices and runs jobs on them, and it can use the fleet too. When the layer closes,
 * the host drains: it takes no more reservations, and waits for those that it has, for `drainTimeout` at most.
 *
 * Fails as {@link layerClient}; with InvalidRequest for a device without a limit, an address that is taken, or the name of another live
 * host; and as its devices when they are opened.
 *
 * **Example** (A host with one device)
 *
 * ```ts no-run
 * import { Effect, Layer, Redacted, Schema } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 * import { Fleet, FleetJob, FleetStorage } from "@effect-gpu-pool/fleet"
 *
 * const Square = FleetJob.make("Square", { input: Schema.Number, output: Schema.Number, bytes: 4 })
 *
 * const host = Fleet.layerHost({
 *   host: "a",
 *   address: { host: "127.0.0.1", port: 7101 },
 *   devices: { "0": { maxBytes: 2 ** 30, labels: { kind: "discrete" } } },
 *   jobs: [FleetJob.handler(Square, (x) => Effect.succeed(x * x))],
 *   secret: Redacted.make(process.env.FLEET_SECRET ?? "")
 * }).pipe(
 *   Layer.provide(BufferPools.layer(() => WebGpu.layer())),
 *   Layer.provide(FleetStorage.sqlite("fleet.db"))
 * )
 * await Effect.runPromise(Layer.launch(host))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHost = <R = never>(
  options: ClusterHostOptions<R>
): Layer.Layer<Fleet | DurableJobs, GpuError, BufferPools | SqlClient | Exclude<R, Scope.Scope>> =>
  layerOf(Effect.gen(function*() {
    yield* LayerChecks.host(options)
    const { timing, ...others } = options
    return yield* ClusterFleet.host("Fleet.layerHost", others, yield* Timing.make(timing, "Fleet.layerHost"))
  }))
