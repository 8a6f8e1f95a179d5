/** Resolving events and queues to positions in the order of a device. */
import * as Effect from "effect/Effect"
import { formatted } from "../../../domain/arguments/Format.ts"
import { inOneLine, showing } from "../../../domain/arguments/Showing.ts"
import { type DeviceInfo, format } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import type { QueueDriver } from "../QueueDriver.ts"
import type { Queue } from "./Queue.ts"

/**
 * A queue and a position in its order. It is plain data without a driver object: it is never released, and many of them
 * cost nothing. Two are equal (`Equal.equals`) when queue and position are.
 *
 * **Example** (Work that has ended)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, QueueEvent } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const x = yield* BufferPool.allocate(64)
 *   yield* CommandQueue.fill(x, 0)
 *   const filled = yield* CommandQueue.event
 *   yield* QueueEvent.wait(filled)
 *   return yield* QueueEvent.isDone(filled)
 * }) // => true
 * ```
 *
 * @see pyopencl.Event
 * @category models
 * @since 0.1.0
 */
export class QueueEvent {
  /** The backend's side of the queue. */
  readonly driver: QueueDriver["Service"]
  /** The position in the queue; compare it only with positions of the same queue. */
  readonly position: number

  constructor(driver: QueueDriver["Service"], position: number) {
    this.driver = driver
    this.position = position
  }
}

showing<QueueEvent>(({ driver, position }) =>
  inOneLine("QueueEvent", undefined, [
    `position ${position}`,
    driver.endedUnsafe() >= position ? "done" : "not known to be done"
  ])
)(QueueEvent.prototype)

/**
 * A queue of a device: the service `CommandQueue`, or what `CommandQueue.make` gave.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueLike {
  readonly info: DeviceInfo
  /** The event of all commands that were recorded until now. */
  readonly event: Effect.Effect<QueueEvent>
}

/**
 * The order of a queue of `device`, or `undefined` where that device has one queue; InvalidRequest for a queue of
 * another device.
 */
export const orderOf = (
  operation: string,
  queue: QueueLike,
  device: DeviceInfo
): Effect.Effect<Queue | undefined, GpuError> =>
  queue.info === device ? Effect.map(queue.event, ({ driver }) => driver.order) : invalidRequest(
    operation,
    `the queue belongs to another device than ${format(device)}`,
    "Pass what CommandQueue.make gave, or CommandQueue itself, on the pool's device."
  )

/**
 * Orders later commands of `own`'s queue after the event, on the device; `undefined` where the device cannot do that:
 * both queues must be of one device with several queues.
 */
export const order = (
  operation: string,
  own: QueueEvent,
  event: QueueEvent
): Effect.Effect<void, GpuError> | undefined => {
  const here = own.driver.order
  const there = event.driver.order
  if (here === undefined || there === undefined || here.queues !== there.queues) return undefined
  const { position } = event
  const last = event.driver.positionUnsafe()
  if (Number.isSafeInteger(position) && position >= 0 && position <= last) return here.after(there, position)
  return invalidRequest(
    operation,
    `the event's position ${formatted(position)} is not one of those that its queue has reached, 0 to ${last}`,
    "Pass what CommandQueue.event gave."
  )
}
