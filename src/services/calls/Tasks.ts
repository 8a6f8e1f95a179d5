/**
 * When a backend continues work outside of fibers: in a microtask, or in a later task of the event loop. A backend
 * without a driver takes these functions from its context. The key is that of npm `effect-schedules`, which controls
 * them while it explores the schedules of a program.
 *
 * @internal
 */
import * as Context from "effect/Context"

export interface TaskQueue {
  /** Runs `task` as a microtask. */
  readonly atEnd: (task: () => void) => void
  /** Runs `task` in a later task of the event loop. */
  readonly next: (task: () => void) => void
}

/** Looked up once: Node has setImmediate, a browser does not. */
const immediate = (globalThis as { readonly setImmediate?: (task: () => void) => unknown }).setImmediate ??
  ((task: () => void) => setTimeout(task, 0))

export const Tasks: Context.Reference<TaskQueue> = Context.Reference<TaskQueue>("effect-schedules/Tasks", {
  defaultValue: () => ({ atEnd: (task) => queueMicrotask(task), next: (task) => void immediate(task) })
})
