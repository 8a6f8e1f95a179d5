/**
 * How long kernels run on the device, as a metric of Effect.
 *
 * @since 0.1.0
 */
import { format } from "effect-gpu-pool/DeviceInfo"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { CurrentKernelTimes, type KernelTimes } from "effect-gpu-pool/KernelTimes"
import type { Dispatch } from "effect-gpu-pool/QueueDriver"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricNames from "./MetricNames.ts"
import { Once } from "./Once.ts"
import { type Described, Series } from "./Series.ts"

/**
 * What the histogram looks like.
 *
 * @category models
 * @since 0.1.0
 */
export interface KernelMetricsOptions {
  /**
   * The upper ends of the buckets, in seconds, from the least up. Without it they are 1, 5, 10, 50, ... µs up to 10 s, and a minute.
   */
  readonly durationBoundaries?: ReadonlyArray<number> | undefined
}

type Timed = NonNullable<Dispatch["timed"]>

/** The histograms of all kernels and devices. Each is registered at its first measurement. */
class Histograms {
  readonly #series: Series
  readonly #boundaries: ReadonlyArray<number>
  readonly #ofDevices = new Map<string, Map<string, Timed>>()

  constructor(series: Series, boundaries: ReadonlyArray<number>) {
    this.#series = series
    this.#boundaries = boundaries
  }

  readonly times: KernelTimes = (driver, info) => {
    const device = format(info)
    return {
      dispatchUnsafe: (dispatch) => {
        const { name } = dispatch.compiled.kernel
        return driver.dispatchUnsafe({ ...dispatch, timed: this.#timed(device, name) })
      }
    }
  }

  close(): void {
    this.#series.remove()
  }

  #timed(device: string, kernel: string): Timed {
    const ofDevice = this.#ofDevices.get(device) ?? new Map<string, Timed>()
    this.#ofDevices.set(device, ofDevice)
    const timed = ofDevice.get(kernel) ?? this.#first(device, kernel)
    ofDevice.set(kernel, timed)
    return timed
  }

  /** Registers the series at the first measurement: a device that cannot profile has none. */
  #first(device: string, kernel: string): Timed {
    const attributes = { kernel, device }
    const lazily = (described: Described) => {
      let histogram: ((seconds: number) => void) | undefined
      return (seconds: number): void => {
        histogram ??= this.#series.histogram(described, this.#boundaries, attributes)
        histogram(seconds)
      }
    }
    const [ran, queued, submitted] = [
      lazily(MetricNames.kernelTime),
      lazily(MetricNames.kernelQueuedTime),
      lazily(MetricNames.kernelSubmittedTime)
    ]
    return (seconds, waits) => {
      ran(seconds)
      if (waits === undefined) return
      queued(waits.queued)
      submitted(waits.submitted)
    }
  }
}

const histograms = new Once({
  operation: "KernelMetrics.layer",
  subject: (context) => Context.get(context, Metric.MetricRegistry),
  begin: (context, boundaries) => new Histograms(new Series(context, {}), boundaries)
})

/**
 * Measures how long the device runs each dispatch: the histogram `gpu_kernel_duration_seconds`, with the attributes `kernel`, its name,
 * and `device`. OpenCL's drivers also know how long a dispatch waited: `gpu_kernel_queued_seconds` until the driver gave it to the
 * device, `gpu_kernel_submitted_seconds` from then until it began. Provide it to the layer of the device; without it dispatches cost nothing more, and no queue is
 * profiled. The series are registered with the metrics of the fiber that builds the layer, and are removed when the layer closes; where
 * it is built several times, when the last of these closes.
 *
 * **Details**
 *
 * - The host measures the time in the kernel's body, without the tasks of the event loop between its parts.
 * - OpenCL opens its queues with `CL_QUEUE_PROFILING_ENABLE`. A queue of other code (`OpenCl.layerFromHandles`) must have been made with
 *   that. Where a device cannot profile, there is no series.
 * - WebGPU needs the feature `timestamp-query`, which the library asks for where the adapter has it; a device of other code
 *   (`WebGpu.layerFromDevice`) must have been opened with it. Without it there is no series. Each dispatch then has a pass of its own.
 *   Browsers and Dawn round timestamps to about 0.1 ms, so a short kernel often takes 0 s: averages over many dispatches are right.
 *
 * `CommandQueue.finish` waits for the measurements of what was recorded before it. A dispatch is not measured if it fails, if its
 * device is lost first, or, on WebGPU, if its device closes first. Devices with the same description share their series. Fails with
 * InvalidRequest for wrong options, and for other `durationBoundaries` than those of a layer that is open.
 *
 * **Example** (How often a kernel ran)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { KernelMetrics } from "@effect-gpu-pool/observability"
 * import { PrometheusMetrics } from "effect/observability"
 *
 * const double = Kernel.make({
 *   name: "double",
 *   args: [KernelArgument.VectorArg("f32", "x")],
 *   body: {
 *     host: (from, to, { x }) => {
 *       for (let i = from; i < to; i++) x[i]! *= 2
 *     }
 *   }
 * })
 * const Gpu = BufferPool.layer().pipe(
 *   Layer.provideMerge(Host.layer()),
 *   Layer.provideMerge(KernelMetrics.layer())
 * )
 * const program = Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(64)
 *   yield* CommandQueue.dispatch(double, { x }, 16)
 *   yield* CommandQueue.dispatch(double, { x }, 16)
 *   yield* CommandQueue.finish
 *   return (yield* PrometheusMetrics.format()).split("\n").filter((line) => line.includes("_count"))
 * })
 * await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Gpu)))
 * // => ['gpu_kernel_duration_seconds_count{kernel="double",device="host process memory"} 2']
 * ```
 *
 * @see pyopencl.Event.profile
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: KernelMetricsOptions = {}): Layer.Layer<never, GpuError> =>
  Layer.effect(CurrentKernelTimes, Effect.map(histograms.use(options), ({ times }) => times))
