/**
 * Whose turn it is. In a replay under the recorded policy the order of events decides who goes on: a request goes on when the next event of
 * the recording is its own. Whatever else wakes its fiber, as memory that comes back, lets it stand until then. One that has nothing more
 * to tell goes on at once.
 *
 * @internal
 */
import type * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"
import type { StepBound } from "./StepBound.ts"
import { CurrentTicket, type Ticket } from "./Ticket.ts"
import type { VirtualTime } from "./VirtualTime.ts"

export class Turns {
  /** Whose turn it is; undefined while the program does something else. */
  current: Ticket | undefined = undefined
  readonly scheduler: Scheduler.Scheduler
  /** The one whose fiber is about to stand. */
  #stands: Ticket | undefined = undefined
  /** Its turn ends with what it tells next. */
  #isUntilTold = false

  constructor(time: VirtualTime, isSame: boolean, bound: StepBound) {
    const scheduleTask = (task: () => void): void => {
      // Whose steps lead nowhere goes on no more.
      if (bound.isSpent) return
      const stands = this.#stands
      this.#stands = undefined
      if (stands === undefined) time.add(task)
      else (stands.standing ??= []).push(task)
    }
    const dispatcher: Scheduler.SchedulerDispatcher = { scheduleTask, flush: () => {} }
    this.scheduler = {
      executionMode: "sync",
      shouldYield: (fiber) => !bound.step() || (isSame && this.#mustStand(fiber)),
      makeDispatcher: () => dispatcher
    }
  }

  /** The fiber's next step is to schedule that it goes on. */
  #mustStand(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    const ticket = fiber.getRef(CurrentTicket)
    if (ticket === undefined || ticket === this.current || ticket.isDone) return false
    this.#stands = ticket
    return true
  }

  /** Does something for a request in its turn. */
  take<A>(ticket: Ticket | undefined, act: () => A): A {
    const before = this.current
    this.current = ticket
    try {
      return act()
    } finally {
      this.current = before
    }
  }

  /** Does something for a request until it tells something. Then it stands. */
  takeUntilTold(ticket: Ticket | undefined, act: () => void): void {
    this.#isUntilTold = true
    this.take(ticket, act)
    this.#isUntilTold = false
  }

  /** Something is told in the turn that there is. */
  told(): void {
    if (!this.#isUntilTold) return
    this.#isUntilTold = false
    this.current = undefined
  }

  /** Lets a fiber of the request go on that stands. False when none does. */
  goOn(ticket: Ticket): boolean {
    const task = ticket.standing?.shift()
    if (task === undefined) return false
    this.take(ticket, task)
    return true
  }
}
