/**
 * A driver call that continues when the fiber that asked for it is interrupted: pools use it for misses.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/**
 * Runs a call on a fiber of its own, kept in `inFlight` meanwhile. `settle` is called exactly once, in the step in
 * which the call ends; `awaited` says whether the asking fiber still waits. That fiber then runs the effect that
 * `settle` returns. The call starts synchronously, so an interruption cannot lose what the caller passes to it.
 */
export const onOwnFiber = <A, E, B, E2>(
  asker: Fiber.Fiber<unknown, unknown>,
  call: Effect.Effect<A, E>,
  inFlight: Set<Fiber.Fiber<A, E>>,
  settle: (exit: Exit.Exit<A, E>, awaited: boolean) => Effect.Effect<B, E2>
): Effect.Effect<B, E2> => {
  // Uninterruptible from its start: an interruption may end the wait for the driver early, but never loses the driver's
  // answer.
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
    // The run loop may have yielded before this step, and the driver may have answered: then the block is held already.
    if (early !== undefined) return register(early)
    resume = register
    return Effect.sync(() => {
      resume = undefined
    })
  })
}
