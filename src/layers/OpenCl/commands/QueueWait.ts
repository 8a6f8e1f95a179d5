/**
 * Waiting for the commands of one queue, however many fibers wait: at most one native wait is outstanding, because each
 * occupies one of the four threads that the whole process has for files, DNS and compression.
 *
 * @internal
 */
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import type { RecordedCommands } from "./RecordedCommands.ts"

interface Waiter {
  /** How many commands must have ended. */
  readonly target: number
  /** Whether this wait must not be merged with a longer one, as when it is for an event. */
  readonly exact: boolean
  readonly done: () => void
}

/**
 * The waits of one queue. A fiber that waits for commands of the outstanding wait ends with it. Later fibers share the
 * next wait, which goes only to the first event that one of them waits for.
 */
export class QueueWait {
  readonly #api: OpenClApi
  readonly #commands: RecordedCommands
  readonly #waiters = new Set<Waiter>()
  /** Whether a native wait is outstanding: until it ends no event may be released, nor the queue. */
  #running = false
  /** Whether a fiber is being woken: it may wait again at once, in the same step. */
  #waking = false

  constructor(api: OpenClApi, commands: RecordedCommands) {
    this.#api = api
    this.#commands = commands
  }

  /** Looks, without waiting, which commands have ended. */
  sweep(): void {
    if (!this.#running) this.#commands.sweep()
  }

  /** As {@link sweep}, when it pays. */
  sweepIfLong(): void {
    if (this.#commands.isLong) this.sweep()
  }

  /**
   * Calls `done` once the first `target` commands have ended (by default all that are recorded now) and no native wait
   * for them is outstanding. They must have been flushed. An `exact` wait is for no more than those. Returns a function
   * that cancels the call of `done`, but not the native wait.
   */
  start(done: () => void, target: number = this.#commands.recorded, exact: boolean = false): () => void {
    const waiter = { target, exact, done }
    this.#waiters.add(waiter)
    this.#next()
    return () => {
      this.#waiters.delete(waiter)
    }
  }

  #next(): void {
    // Never while another fiber is being woken: while `Effect.forEach` starts a fiber, none of its other fibers may
    // end, or it runs one item twice and another never.
    if (this.#running || this.#waking) return
    this.#waking = true
    this.#commands.sweep()
    this.#wakeEnded()
    this.#waking = false
    if (this.#waiters.size > 0) this.#waitFor(this.#nextTarget())
  }

  #nextTarget(): number {
    let latest = 0
    let firstExact = Infinity
    for (const { exact, target } of this.#waiters) {
      latest = Math.max(latest, target)
      if (exact) firstExact = Math.min(firstExact, target)
    }
    return Math.min(latest, firstExact)
  }

  /**
   * Waits for the events of all commands up to the `target`-th. The last event alone would not do: on some drivers,
   * NVIDIA's among them, a map command ends before earlier commands of the same in-order queue.
   */
  #waitFor(target: number): void {
    const events = this.#commands.unendedUpTo(target)
    if (events.length === 0) return this.#settle(target, OpenClCode.success)
    this.#running = true
    this.#api.clWaitForEventsAsync(events.length, events, (_, code) => {
      this.#running = false
      // A failed command ends the wait before the others have ended. The next wait leaves it out.
      const isOver = code !== OpenClCode.waitedEventFailed ||
        this.#commands.unendedUpTo(target).length === events.length
      if (isOver) this.#settle(target, code)
      else this.#waitFor(target)
    })
  }

  #settle(target: number, code: number): void {
    this.#commands.settle(target, code)
    this.#next()
  }

  /** Repeats, since a woken fiber may see more commands end, for which others wait. */
  #wakeEnded(): void {
    let ended: number
    do {
      ended = this.#commands.ended
      this.#wake()
    } while (this.#commands.ended > ended)
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (waiter.target > this.#commands.ended) continue
      this.#waiters.delete(waiter)
      waiter.done()
    }
  }
}
