/**
 * The handlers within whose work an effect runs.
 *
 * @internal
 */
import * as Context from "effect/Context"

/**
 * Handlers of one pool at work for one request.
 */
export class HandlerRun {
  /** A fiber that outlives its handler does not count as the handler. */
  isOver = false
  readonly pool: object
  readonly outer: HandlerRun | undefined

  constructor(pool: object, outer: HandlerRun | undefined) {
    this.pool = pool
    this.outer = outer
  }
}

/**
 * Known to what a handler does: asking its pool for memory there neither asks the handlers again nor waits.
 */
export const InHandler = Context.Reference<HandlerRun | undefined>("effect-gpu-pool/InHandler", {
  defaultValue: () => undefined
})

/**
 * Whether the request comes from a handler of the pool, perhaps through a handler of another pool.
 */
export const isWithin = (innermost: HandlerRun | undefined, pool: object): boolean => {
  for (let run = innermost; run !== undefined; run = run.outer) {
    if (run.pool === pool && !run.isOver) return true
  }
  return false
}
