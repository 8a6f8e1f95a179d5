/**
 * A scheduler that counts its tasks: while the count does not change, no fiber runs.
 */
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"

export class CountingScheduler implements Scheduler.Scheduler {
  tasks = 0
  readonly #inner: Scheduler.Scheduler

  constructor(inner: Scheduler.Scheduler) {
    this.#inner = inner
  }

  get executionMode() {
    return this.#inner.executionMode
  }

  shouldYield(...[fiber]: Parameters<Scheduler.Scheduler["shouldYield"]>) {
    return this.#inner.shouldYield(fiber)
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    const dispatcher = this.#inner.makeDispatcher()
    return {
      scheduleTask: (task, priority) => {
        this.tasks++
        dispatcher.scheduleTask(task, priority)
      },
      flush: () => dispatcher.flush()
    }
  }
}

/** Runs an effect, and what it forks, on such a scheduler over its own. */
export const counted = <A, E, R>(f: (scheduler: CountingScheduler) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Scheduler.Scheduler, (inner) => {
    const scheduler = new CountingScheduler(inner)
    return Effect.provideService(f(scheduler), Scheduler.Scheduler, scheduler)
  })
