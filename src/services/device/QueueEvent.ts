/**
 * A place in a queue: all commands that were recorded before it. `CommandQueue.event` makes one.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { GpuError } from "../../domain/GpuError.ts"
import type { QueueEvent } from "./queues/EventOrder.ts"

export { QueueEvent, type QueueLike } from "./queues/EventOrder.ts"

/**
 * Waits until everything before the event has run, without blocking the event loop. Submits commands that were not
 * submitted yet. Fails with the errors of recorded commands, once, as `CommandQueue.finish` does; or with DeviceLost.
 *
 * **Example** (Waiting for several)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { QueueEvent } from "effect-gpu-pool"
 *
 * const all = (events: ReadonlyArray<QueueEvent.QueueEvent>) => Effect.forEach(events, QueueEvent.wait, { discard: true })
 * ```
 *
 * @see pyopencl.Event.wait
 * @category waiting
 * @since 0.1.0
 */
export const wait = (event: QueueEvent): Effect.Effect<void, GpuError> =>
  Effect.suspend(() => event.driver.awaitPosition(event.position))

/**
 * Whether all commands before the event are known to have ended, with or without an error. It does not wait, and does
 * not submit recorded commands: the end of the event loop's task does.
 *
 * **Example** (Doing something else meanwhile)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { QueueEvent } from "effect-gpu-pool"
 *
 * const meanwhile = <A, E, R>(event: QueueEvent.QueueEvent, step: Effect.Effect<A, E, R>) =>
 *   Effect.repeat(Effect.andThen(step, Effect.yieldNow), { until: () => QueueEvent.isDone(event) })
 * ```
 *
 * @see pyopencl.Event.command_execution_status
 * @category waiting
 * @since 0.1.0
 */
export const isDone = (event: QueueEvent): Effect.Effect<boolean> =>
  Effect.sync(() => event.driver.endedUnsafe() >= event.position)
