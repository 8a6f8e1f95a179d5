/**
 * Releasing device buffers, images and samplers in queue order.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError, Released } from "../../domain/GpuError.ts"
import { toLoggers, type Warn } from "../calls/Warnings.ts"
import * as Attachments from "../lease/Attachments.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import type { DeviceContext } from "./DeviceContext.ts"
import { EmptyBuffer } from "./EmptyBuffer.ts"
import type { QueueDriver } from "./QueueDriver.ts"

/** Ends the buffer's attachments, submits the recorded commands that use it, and destroys it, all in this step. */
export const releaseInOrderUnsafe = (
  device: DeviceContext["Service"],
  driver: QueueDriver["Service"],
  buffer: DeviceBuffer,
  why: Released["why"] = "released"
): Exit.Exit<void, GpuError> => {
  const ended = Attachments.endAll(buffer, why)
  const given = buffer instanceof EmptyBuffer
    ? buffer.releaseInOrderUnsafe(device.info)
    : inOrderUnsafe(device.status, driver, () => device.destroyBufferUnsafe(buffer))
  return Exit.isFailure(ended) ? ended : given
}

/** Submits recorded commands, which may use the object, and then destroys it, all in one step. */
export const inOrderUnsafe = (
  status: DeviceStatus,
  driver: QueueDriver["Service"],
  destroy: () => Exit.Exit<void, GpuError>
): Exit.Exit<void, GpuError> => {
  const queues = driver.order?.queues
  // The driver's own queue may be closed, and other queues may have recorded commands that name what is destroyed.
  const isAlone = queues === undefined || (!queues.several && queues.first === driver.order)
  const flushed = isAlone ? driver.flushUnsafe() : queues.flushUnsafe()
  const destroyed = destroy()
  // A lost device takes no submit, and needs none.
  return Exit.isFailure(flushed) && status.error === undefined ? flushed : destroyed
}

/** What a finalizer does with the outcome: it warns of a driver error, because a finalizer cannot fail. */
export const warned = (
  warn: Warn,
  given: () => Effect.Effect<void, GpuError>,
  what: string = "A buffer"
): Effect.Effect<void> =>
  Effect.catch(Effect.suspend(given), (error) => warn(`${what} could not be freed: ${error.message}`))

/** The same in the log. */
export const logged = (given: () => Effect.Effect<void, GpuError>, what?: string): Effect.Effect<void> =>
  warned(toLoggers, given, what)
