/**
 * How much recorded work a queue may have that the device has not done: back pressure for programs that record faster than their
 * device works.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../domain/arguments/Format.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import { validated } from "../calls/Validated.ts"
import { type Bound, BytesInFlight, usualBound } from "../device/BytesInFlight.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { QueueDriver } from "../device/QueueDriver.ts"

/**
 * The most work that may be under way on one queue.
 *
 * @category models
 * @since 0.1.0
 */
export interface Backpressures {
  /**
   * Bytes of the program's data that recorded writes have copied, and the device has not used: `"64 MiB"` without it. A
   * larger write goes alone.
   */
  readonly maxBytes?: MemoryLimit.ByteAmount | undefined
  /** Commands that were recorded, and are not known to have ended: writes, copies, fills, dispatches. No limit without it. */
  readonly maxCommands?: number | undefined
}

const isCount = (value: unknown): boolean => value === Infinity || (Number.isSafeInteger(value) && Number(value) > 0)

const backpressures = Schema.Struct({
  maxBytes: MemoryLimit.amount,
  maxCommands: LayerOptions.instance<number>((operation, name, value) =>
    value === undefined || isCount(value) ? undefined : invalidRequest(
      operation,
      `${name} ${formatted(value)} is no whole number of commands, one or more`,
      "Pass a positive integer, or leave it out."
    )
  )
})

const boundOf = (operation: string, limits: Backpressures, device: DeviceInfo): Bound => {
  const { maxBytes, maxCommands = usualBound.commands } = valid(LayerOptions.read(operation, backpressures, limits))
  const bytes = valid(MemoryLimit.resolve(operation, "maxBytes", { bytes: maxBytes }, device)) ?? usualBound.bytes
  return { bytes, commands: maxCommands }
}

/**
 * Limits the recorded work of the queue in context, from now on. Beyond a limit what records commands
 * (`CommandQueue.write`, `dispatch` and the others, `Images`, arrays) waits in a queue, without blocking the event
 * loop, until the device has done enough: half of what is allowed, so that the driver is not polled after each command.
 * A waiting command fails with DeviceLost when the device is lost, and with Released when a lease of it has ended
 * meanwhile; an interruption removes it. It is not recorded yet, so commands of other fibers may come before it. A
 * limit that is left out is reset to its default.
 *
 * Fails with InvalidRequest for an invalid limit, and with Unsupported for a share of the memory of a device that does
 * not report it.
 *
 * **Example** (Little host memory for writes, during one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Backpressure } from "effect-gpu-pool"
 *
 * const lean = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.acquireUseRelease(
 *     Backpressure.set({ maxBytes: "4 MiB" }),
 *     () => job,
 *     () => Effect.ignore(Backpressure.set({}))
 *   )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const set = (limits: Backpressures): Effect.Effect<void, GpuError, DeviceContext | QueueDriver> =>
  DeviceContext.use(({ info }) =>
    QueueDriver.use((driver) =>
      validated("Backpressure.set", (operation) => {
        BytesInFlight.of(driver).limit(boundOf(operation, limits, info))
        return Effect.void
      })
    )
  )

/**
 * The same as {@link set}, for the queue that a backend's layer provides.
 *
 * **Example** (At most 1,000 commands and 16 MiB of writes ahead of the device)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool, Backpressure } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const Gpu = Layer.merge(BufferPool.layer(), Backpressure.layer({ maxBytes: "16 MiB", maxCommands: 1000 })).pipe(
 *   Layer.provideMerge(WebGpu.layer())
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (limits: Backpressures): Layer.Layer<never, GpuError, DeviceContext | QueueDriver> =>
  Layer.effectDiscard(set(limits))
