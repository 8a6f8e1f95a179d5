/**
 * A driver call that outlives whoever asked for it: what pools use for misses.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/**
 * Runs a call on a fiber of its own, kept in `inFlight` meanwhile. `settle` is told its end exactly once, in the step in
 * which it ends, and whether anybody still waits for it; what it answers goes on in the fiber that asked. The call starts
 * in this very step: what the caller handed over to it cannot be lost between two.
 *
 * @internal
 */
export const onOwnFiber = <A, E, B, E2>(
  asker: Fiber.Fiber<unknown, unknown>,
  call: Effect.Effect<A, E>,
  inFlight: Set<Fiber.Fiber<A, E>>,
  settle: (exit: Exit.Exit<A, E>, awaited: boolean) => Effect.Effect<B, E2>
): Effect.Effect<B, E2> => {
  // Uninterruptible from its start: an interruption may cut the driver's waiting short, and never loses its answer.
  const running = Effect.runForkWith(asker.context)(call, { uninterruptible: true })
  const done = running.pollUnsafe()
  if (done !== undefined) return settle(done, true)
  let resume: ((answer: Effect.Effect<B, E2>) => void) | undefined
  let early: Effect.Effect<B, E2> | undefined
  inFlight.add(running)
  running.addObserver((exit) => {
    inFlight.delete(running)
    const answer = settle(exit, resume !== undefined)
    if (resume === undefined) early = answer
    else resume(answer)
  })
  return Effect.callback((register) => {
    // The run loop may have yielded before this step, and the driver answered: then what it gave is held by now.
    if (early !== undefined) return register(early)
    resume = register
    return Effect.sync(() => {
      resume = undefined
    })
  })
}
