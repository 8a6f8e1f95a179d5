/**
 * Observability of memory: events, recordings, metrics, a viewer, replay and plans.
 *
 * @since 0.1.0
 */

/**
 * What happens to the memory of pools, as data.
 *
 * @category events
 * @since 0.1.0
 */
export * as PoolEvent from "effect-gpu-pool/PoolEvent"

/**
 * What happens to the memory of pools, as it happens.
 *
 * @category events
 * @since 0.1.0
 */
export * as PoolEvents from "./events/PoolEvents.ts"

/**
 * Functions that pools call when they lease, take back and free.
 *
 * @category events
 * @since 0.1.0
 */
export * as MemoryHook from "./events/MemoryHook.ts"

/**
 * Recordings of what happened to the memory of a program.
 *
 * @category recordings
 * @since 0.1.0
 */
export * as Recording from "./recording/Recording.ts"

/**
 * What pools count, as metrics that Prometheus and OTLP export.
 *
 * @category metrics
 * @since 0.1.0
 */
export * as PoolMetrics from "./metrics/PoolMetrics.ts"

/**
 * How long kernels run on the device, as a metric.
 *
 * @category metrics
 * @since 0.1.0
 */
export * as KernelMetrics from "./metrics/KernelMetrics.ts"

/**
 * A recording as a web page.
 *
 * @category viewing
 * @since 0.1.0
 */
export * as Viewer from "./viewer/Viewer.ts"

/**
 * The CSV logs of RMM, in and out.
 *
 * @category files of other tools
 * @since 0.1.0
 */
export * as RmmLog from "./formats/RmmLog.ts"

/**
 * The lines of CuPy's DebugPrintHook, in.
 *
 * @category files of other tools
 * @since 0.1.0
 */
export * as CupyLog from "./formats/CupyLog.ts"

/**
 * Snapshots of PyTorch's memory, in and out.
 *
 * @category files of other tools
 * @since 0.1.0
 */
export * as TorchSnapshot from "./formats/TorchSnapshot.ts"

/**
 * Traces for Perfetto and Chrome, out.
 *
 * @category files of other tools
 * @since 0.1.0
 */
export * as ChromeTrace from "./formats/ChromeTrace.ts"

/**
 * Replays of a recording's requests under other policies.
 *
 * @category recordings
 * @since 0.1.0
 */
export * as Replay from "./replay/Replay.ts"

/**
 * How much memory a program needs.
 *
 * @category recordings
 * @since 0.1.0
 */
export * as Plan from "./plan/Plan.ts"
