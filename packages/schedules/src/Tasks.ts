/**
 * Schedules functions to run later, outside of fibers.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * What runs a function later.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskQueue {
  /** Runs the function at the end of this task of the event loop. */
  readonly atEnd: (task: () => void) => void
  /** Runs the function in a later task of the event loop. */
  readonly next: (task: () => void) => void
}

/** Node has it, a browser does not. */
const immediate = (globalThis as { readonly setImmediate?: (task: () => void) => unknown }).setImmediate ??
  ((task: () => void) => setTimeout(task, 0))

/**
 * The task queue for a service that answers outside of fibers, as a driver does. In an explored program the explorer
 * controls it; otherwise it is the event loop's. A library that must not depend on this package declares a reference of
 * the same key.
 *
 * **Example** (A service that answers in a later task)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Schedules } from "effect-schedules"
 *
 * const answer = Effect.flatMap(Schedules.Tasks, ({ next }) =>
 *   Effect.callback<number>((resume) => next(() => resume(Effect.succeed(42)))))
 * await Effect.runPromise(answer) // => 42
 * const { complete } = await Effect.runPromise(Schedules.explore(answer))
 * complete // => true
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export const Tasks: Context.Reference<TaskQueue> = Context.Reference<TaskQueue>("effect-schedules/Tasks", {
  defaultValue: () => ({ atEnd: (task) => queueMicrotask(task), next: (task) => void immediate(task) })
})
