/**
 * What the broker of a fleet knows, as metrics of Effect: hosts, devices, reserved bytes, and reservations that wait.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import { Fleet } from "../Fleet.ts"
import { measure } from "./FleetSeries.ts"

/**
 * How often the status is read.
 *
 * @category models
 * @since 0.1.0
 */
export interface FleetMetricsOptions {
  /** How long to wait after an answer of the broker before the next question. Default: 5 seconds. */
  readonly refresh?: Duration.Input | undefined
}

/**
 * Asks the broker for its status again and again, and registers what it says with the metrics of the fiber that builds the layer, until
 * the layer closes. Reading the metrics asks nobody: they have the values of the last answer.
 *
 * **Details**
 *
 * - `gpu_fleet_hosts`, by `state`: `"current"`, `"draining"` or `"lost"`.
 * - `gpu_fleet_capacity_bytes`, `gpu_fleet_reserved_bytes` and `gpu_fleet_reservations`, by `host`, `device` and `backend`, of each device
 *   of a host that is not lost.
 * - `gpu_fleet_waiters`: how many reservations wait.
 * - `gpu_fleet_placed_total`, `gpu_fleet_ended_total`, `gpu_fleet_lost_total`: reservations since the broker began. When another host
 *   becomes the broker they begin again at 0, which `rate` of Prometheus takes into account.
 *
 * While no broker answers there are none of these series, so that an alert on their absence says so; a warning is logged once, until the
 * next answer. The attributes of `Metric.CurrentMetricAttributes` are added, but for those that a series has itself.
 *
 * The metrics are of the whole fleet: one process exports them, not each host. What the pools of one host have says `PoolMetrics` of
 * `@effect-gpu-pool/observability`.
 *
 * **Example** (How many bytes are reserved)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPools } from "effect-gpu-pool/devices"
 * import { Host } from "effect-gpu-pool/host"
 * import { PrometheusMetrics } from "effect/observability"
 * import { Fleet, FleetMetrics } from "@effect-gpu-pool/fleet"
 *
 * const Local = Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } } }).pipe(
 *   Layer.provide(BufferPools.layer(() => Host.layer()))
 * )
 * const program = Effect.scoped(Effect.gen(function*() {
 *   yield* Fleet.reserve({ bytes: 1024 })
 *   yield* Layer.build(FleetMetrics.layer())
 *   const page = yield* PrometheusMetrics.format()
 *   return page.split("\n").filter((line) => line.startsWith("gpu_fleet_reserved_bytes"))
 * }))
 * await Effect.runPromise(Effect.provide(program, Local))
 * // => ['gpu_fleet_reserved_bytes{host="here",device="0",backend="host"} 1024']
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: FleetMetricsOptions = {}): Layer.Layer<never, never, Fleet> =>
  Layer.effectDiscard(Fleet.use(({ status }) => measure(status, options.refresh ?? "5 seconds")))
