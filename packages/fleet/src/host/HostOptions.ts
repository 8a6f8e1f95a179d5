/**
 * What a host offers: its devices and its jobs.
 *
 * @since 0.1.0
 */
import type { Handler } from "../FleetJob.ts"

/**
 * What a host says of one of its devices.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceOptions {
  /** The bytes of it that the fleet may reserve. Default: the limit of its pool. */
  readonly maxBytes?: number | undefined
  /** What reservations may ask for, as `{ zone: "west" }`. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/**
 * The devices and jobs of a host.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostOptions<R = never> {
  /** Unique in the fleet. */
  readonly host: string
  /** The devices that it offers, by their names in `BufferPools`. */
  readonly devices: Readonly<Record<string, DeviceOptions>>
  /** The jobs that it runs. */
  readonly jobs?: ReadonlyArray<Handler<R>> | undefined
  /** The bytes that inputs of jobs together have in this process, while they arrive and until their jobs end: 256 MiB. */
  readonly maxInputBytes?: number | undefined
}
