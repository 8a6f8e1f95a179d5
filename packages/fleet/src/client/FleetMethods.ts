/**
 * The methods of a fleet, for programs.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Job } from "../FleetJob.ts"
import type { FleetBuffer, FleetStatus, Placement, Where } from "../protocol/FleetModel.ts"

/**
 * What a reservation is for.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReserveOptions {
  /** Bytes of one device. */
  readonly bytes: number
  /** The devices that it may be on. Default: all. */
  readonly where?: Where | undefined
  /** What the list of waiting reservations calls it. */
  readonly label?: string | undefined
  /** Whether it waits for room (the default), or fails with OutOfMemory. */
  readonly onExhausted?: "fail" | "wait" | undefined
  /** How long it waits at most; without it there is no end. It then fails with OutOfMemory. */
  readonly waitAtMost?: Duration.Input | undefined
}

/**
 * How a job runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions extends Partial<ReserveOptions> {
  /** A reservation of the program that it runs in. Default: one of its own, for as long as it runs. */
  readonly within?: Reservation | undefined
  /**
   * How often, and after which delays, it runs again after HostLost or DeviceLost: an idempotent job always, another one while nothing of
   * it can have run. Default: ten times, at first after a tenth of a second, then after twice as long.
   */
  readonly retry?: Schedule.Schedule<unknown, unknown> | undefined
}

/**
 * How many jobs run, and in which order their outputs come.
 *
 * @category models
 * @since 0.1.0
 */
export interface MapOptions extends RunOptions {
  /** How many jobs have a reservation or wait for one at the same time. */
  readonly concurrency: number | "unbounded"
  /** Whether the outputs come in the order of the inputs (the default), or as the jobs end. */
  readonly ordered?: boolean | undefined
}

/**
 * A reservation on a host.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reservation extends Placement {}

/**
 * A range of a buffer, in bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface RangeOptions {
  /** Where it begins. Default: 0. */
  readonly offset?: number | undefined
  /** How long it is. Default: up to the end of the buffer. */
  readonly length?: number | undefined
}

/**
 * The methods of a fleet.
 *
 * @category models
 * @since 0.1.0
 */
export interface FleetMethods {
  /** See {@link reserve}. */
  readonly reserve: (options: ReserveOptions) => Effect.Effect<Reservation, GpuError, Scope.Scope>
  /** See {@link run}. */
  readonly run: <Input, Output, Failure>(
    job: Job<Input, Output, Failure>,
    input: Input,
    options?: RunOptions
  ) => Effect.Effect<Output, Failure | GpuError>
  /** See {@link map}. */
  readonly map: <Input, Output, Failure, E = never, R = never>(
    job: Job<Input, Output, Failure>,
    inputs: Iterable<Input> | Stream.Stream<Input, E, R>,
    options: MapOptions
  ) => Stream.Stream<Output, Failure | GpuError | E, R>
  /** See {@link allocate}. */
  readonly allocate: (
    reservation: Reservation,
    bytes: number,
    options?: { readonly label?: string | undefined }
  ) => Effect.Effect<FleetBuffer, GpuError>
  /** See {@link write}. */
  readonly write: <E = never, R = never>(
    buffer: FleetBuffer,
    data: Uint8Array | Stream.Stream<Uint8Array, E, R>,
    options?: Pick<RangeOptions, "offset">
  ) => Effect.Effect<void, GpuError | E, R>
  /** See {@link read}. */
  readonly read: (buffer: FleetBuffer, options?: RangeOptions) => Stream.Stream<Uint8Array, GpuError>
  /** See {@link free}. */
  readonly free: (buffer: FleetBuffer) => Effect.Effect<void, GpuError>
  /** See {@link status}. */
  readonly status: Effect.Effect<FleetStatus, GpuError>
}
