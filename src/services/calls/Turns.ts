/**
 * When a backend goes on with work of its own, apart from fibers: at the end of this turn of the event loop, or in the
 * next one. A backend without a driver takes these from its context, so that a test can decide about them as well.
 *
 * @internal
 */
import * as Context from "effect/Context"

/** @internal */
export interface TurnsShape {
  /** Runs the task when the current turn has nothing else to do. */
  readonly atEnd: (task: () => void) => void
  /** Runs the task after other work of the event loop. */
  readonly next: (task: () => void) => void
}

/** Looked up once, and by feature: Node has setImmediate, a browser has not. */
const immediate = (globalThis as { readonly setImmediate?: (task: () => void) => unknown }).setImmediate ??
  ((task: () => void) => setTimeout(task, 0))

/** @internal */
export const Turns: Context.Reference<TurnsShape> = Context.Reference<TurnsShape>("effect-gpu-pool/Turns", {
  defaultValue: () => ({ atEnd: (task) => queueMicrotask(task), next: (task) => void immediate(task) })
})
