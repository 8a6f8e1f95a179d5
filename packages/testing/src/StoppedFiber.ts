/**
 * Stops a fiber before one of its steps, so that another fiber can act there. Effect's run loop yields after 2,048
 * operations, so in a long program it can yield at any step.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"

/** Stops the first fiber that reaches the step with this number, until the test lets it go on. */
class StopAt implements Scheduler.Scheduler {
  readonly executionMode = "async"
  readonly stopped = Deferred.makeUnsafe<boolean>()
  readonly #inner = new Scheduler.MixedScheduler()
  #steps: number
  #stopping = false
  #goOn: (() => void) | undefined

  constructor(step: number) {
    this.#steps = step
  }

  shouldYield(): boolean {
    this.#stopping = this.#steps-- === 0
    return this.#stopping
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    const inner = this.#inner.makeDispatcher()
    const scheduleTask = (task: () => void, priority: number): void => {
      if (!this.#stopping) return inner.scheduleTask(task, priority)
      this.#stopping = false
      this.#goOn = () => inner.scheduleTask(task, priority)
      Deferred.doneUnsafe(this.stopped, Effect.succeed(true))
    }
    return { scheduleTask, flush: () => inner.flush() }
  }

  goOn(): void {
    this.#goOn?.()
  }
}

/**
 * Runs `program` on a new fiber up to the step, then `act`, then the rest of `program`, and returns the program's exit.
 * If the program ends before that step, `act` does not run, and the result is `undefined`.
 */
export const actAt = <A, E, R, B, E2, R2>(
  program: Effect.Effect<A, E, R>,
  step: number,
  act: Effect.Effect<B, E2, R2>
): Effect.Effect<Exit.Exit<A, E> | undefined, E2, R | R2> =>
  Effect.gen(function*() {
    const scheduler = new StopAt(step)
    const fiber = yield* program.pipe(
      Effect.provideService(Scheduler.Scheduler, scheduler),
      Effect.forkChild({ startImmediately: true })
    )
    fiber.addObserver(() => Deferred.doneUnsafe(scheduler.stopped, Effect.succeed(false)))
    if (!(yield* Deferred.await(scheduler.stopped))) return undefined
    yield* Effect.ensuring(act, Effect.sync(() => scheduler.goOn()))
    return yield* Fiber.await(fiber)
  })

/** Runs `program` on a new fiber until it first waits, then `act`, and returns the program's exit. */
export const actWhileItWaits = <A, E, R, B, E2, R2>(
  program: Effect.Effect<A, E, R>,
  act: Effect.Effect<B, E2, R2>
): Effect.Effect<Exit.Exit<A, E>, E2, R | R2> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(program, { startImmediately: true })
    yield* act
    return yield* Fiber.await(fiber)
  })
