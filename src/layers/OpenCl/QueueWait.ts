/**
 * Waiting for the commands of one queue, however many fibers wait: at most one native wait is outstanding, because each
 * occupies one of the four threads that the whole process has for files, names and compression.
 *
 * @internal
 */
import type { OpenClApi } from "./OpenClApi.ts"
import type { RecordedCommands } from "./RecordedCommands.ts"

interface Waiter {
  /** How many commands must have ended. */
  readonly target: number
  readonly done: () => void
}

/**
 * The waits of one queue. Whoever waits for commands that the outstanding wait covers ends with it; whoever came later
 * shares the next one.
 *
 * @internal
 */
export class QueueWait {
  readonly #api: OpenClApi
  readonly #commands: RecordedCommands
  readonly #event = new BigUint64Array(new ArrayBuffer(8))
  readonly #waiters = new Set<Waiter>()
  /** Whether a native wait is outstanding: until it ends no event may be released, nor the queue. */
  #running = false

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
   * Calls `done` once everything recorded until now has ended and no native wait for it is left. It must have been
   * flushed. Returns the way to give up, which leaves the native wait to itself.
   */
  start(done: () => void): () => void {
    const waiter = { target: this.#commands.recorded, done }
    this.#waiters.add(waiter)
    this.#next()
    return () => {
      this.#waiters.delete(waiter)
    }
  }

  #next(): void {
    if (this.#running) return
    this.#commands.sweep()
    this.#wake()
    // Whoever was woken may have started the next wait already.
    if (this.#waiters.size === 0 || this.#running) return
    let target = 0
    for (const waiter of this.#waiters) target = Math.max(target, waiter.target)
    this.#waitFor(target)
  }

  #waitFor(target: number): void {
    this.#running = true
    this.#event[0] = this.#commands.eventOf(target)
    this.#api.clWaitForEventsAsync(1, this.#event, (_, code) => {
      this.#running = false
      this.#commands.settle(target, code)
      this.#next()
    })
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (waiter.target > this.#commands.ended) continue
      this.#waiters.delete(waiter)
      waiter.done()
    }
  }
}
