/**
 * What pools count, as metrics of Effect, which its exporters for Prometheus and OTLP export.
 *
 * @since 0.1.0
 */
import { CurrentHub, type ObservedMemory } from "effect-gpu-pool/EventHub"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { Subscribers } from "../events/Subscribers.ts"
import { MetricsPublisher } from "./MetricsPublisher.ts"
import { Once } from "./Once.ts"
import { Series } from "./Series.ts"

/**
 * What histograms of times look like.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolMetricsOptions {
  /**
   * The upper ends of the buckets, in seconds, from the least up. Without it they are 1, 5, 10, 50, ... µs up to 10 s, and a minute.
   */
  readonly durationBoundaries?: ReadonlyArray<number> | undefined
}

/** The numbers that distinguish series of one registry. */
const numbersOf = new WeakMap<object, Set<string>>()

/** The least number that no other open memory with this label has on this device. */
const takeNumber = (
  registry: Metric.MetricRegistry,
  identity: ReadonlyArray<unknown>
): { readonly number: number; readonly release: () => void } => {
  const taken = numbersOf.get(registry) ?? new Set()
  numbersOf.set(registry, taken)
  let number = 1
  while (taken.has(JSON.stringify([...identity, number]))) number++
  const key = JSON.stringify([...identity, number])
  taken.add(key)
  return { number, release: () => void taken.delete(key) }
}

/** The metrics of all memories of one hub, in one registry. */
class Metered {
  readonly #context: Context.Context<never>
  readonly #boundaries: ReadonlyArray<number>
  readonly #closings = new Set<() => void>()
  readonly #stop: () => void

  constructor(context: Context.Context<never>, boundaries: ReadonlyArray<number>) {
    this.#context = context
    this.#boundaries = boundaries
    this.#stop = Subscribers.of(Context.get(context, CurrentHub)).add({
      of: (memory) => this.#of(memory),
      ofLeases: false
    })
  }

  close(): void {
    this.#stop()
    for (const close of this.#closings) close()
  }

  #of(memory: ObservedMemory): MetricsPublisher {
    const context = this.#context
    const { device } = memory
    const label = memory.label ?? Context.get(context, Metric.CurrentMetricAttributes)["memory"]
    const { release, number } = takeNumber(Context.get(context, Metric.MetricRegistry), [label, device])
    const series = new Series(context, {
      ...(label === undefined ? {} : { memory: label }),
      number: String(number),
      device
    })
    const close = () => {
      series.remove()
      if (this.#closings.delete(close)) release()
    }
    this.#closings.add(close)
    return new MetricsPublisher(memory, series, this.#boundaries, Context.get(context, Clock.Clock), close)
  }
}

const metered = new Once({
  operation: "PoolMetrics.layer",
  subject: (context) => Context.get(context, CurrentHub),
  begin: (context, boundaries) => new Metered(context, boundaries)
})

/**
 * Registers the counters of all pools of the program, also of those that open later, with the metrics of the fiber that builds the
 * layer. They are read when metrics are read: a hit does nothing for them. The series of a pool are removed when it closes, and all
 * series when the layer closes.
 *
 * **Details**
 *
 * Each series has the attributes `device`, `memory` (the label of the pool, or of the `DeviceMemory` that several pools share) and
 * `number`, which distinguishes memories of one label on one device. Names end in their unit, `_bytes` or `_seconds`, and those of
 * counters in `_total`, as Prometheus has it; exporters of Effect write them as they are.
 *
 * - `gpu_pool_managed_bytes`, `_held_bytes`, `_active_bytes`, `_pending_bytes`, `_reserved_bytes`, and so on: each counter of
 *   `PoolStats` by its name; `gpu_pool_limit_bytes` where there is a limit.
 * - `gpu_pool_hits_total`, `gpu_pool_misses_total` and the other counters of `PoolStats` that only grow, since the pool opened.
 * - `gpu_pool_evictions_total`, `gpu_pool_out_of_memory_total`, `gpu_pool_limit_exceeded_total` and `gpu_pool_refusals_total` by `reason`,
 *   since this layer was built.
 * - `gpu_pool_wait_duration_seconds` and `gpu_pool_miss_duration_seconds`, histograms by `pool`, the service of the request, and
 *   `outcome`: of waits `"served"` or `"ended"`; of driver calls `"made"`, `"refused"`, or `"kept"` where the request had ended.
 *
 * A memory is counted once, however often the layer is built: the first layer decides the attributes, and the series end with the last
 * one. For pools with a `PoolEvents.layer` of their own, build this layer with that one too. Fails with InvalidRequest for wrong
 * options, and for other `durationBoundaries` than those of a layer that is open.
 *
 * **Example** (What a page of metrics says of a pool)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { PoolMetrics } from "@effect-gpu-pool/observability"
 * import { PrometheusMetrics } from "effect/observability"
 *
 * const Gpu = BufferPool.layer({ label: "frames" }).pipe(
 *   Layer.provideMerge(Host.layer()),
 *   Layer.provideMerge(PoolMetrics.layer())
 * )
 * const program = Effect.gen(function*() {
 *   yield* Effect.replicateEffect(BufferPool.use(64, () => Effect.void), 3)
 *   return (yield* PrometheusMetrics.format()).split("\n").filter((line) => /^gpu_pool_(hits|misses).*"frames"/.test(line))
 * })
 * await Effect.runPromise(program.pipe(Effect.provide(Gpu)))
 * // => ['gpu_pool_hits_total{memory="frames",number="1",device="host process memory"} 2', 'gpu_pool_misses_total{memory="frames",number="1",device="host process memory"} 1']
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: PoolMetricsOptions = {}): Layer.Layer<never, GpuError> =>
  Layer.effectDiscard(metered.use(options))
