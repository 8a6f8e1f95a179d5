/**
 * How far the device has come with what was submitted. Submits and writes are counted, not commands: only of their end a
 * device tells.
 *
 * @internal
 */
import type * as WebGpuHandle from "./WebGpuHandle.ts"
/** @internal */
export class SubmittedWork {
  readonly #queue: WebGpuHandle.Queue
  #submitted = 0
  #ended = 0
  #asking = false

  constructor(queue: WebGpuHandle.Queue) {
    this.#queue = queue
  }

  /** How many submits and writes there were. */
  get submitted(): number {
    return this.#submitted
  }

  /** How many of them are known to have ended. */
  get ended(): number {
    return this.#ended
  }

  /** One more was made. */
  add(): void {
    this.#submitted += 1
  }

  /** What was submitted until now has ended when this settles; it need not, on a device that gets lost. */
  async worked(): Promise<void> {
    const until = this.#submitted
    await this.#queue.onSubmittedWorkDone()
    this.endedUpTo(until)
  }

  /** What comes after it has ended. */
  endedUpTo(position: number): void {
    this.#ended = Math.max(this.#ended, position)
  }

  /** Asks for news, once at a time. */
  ask(): void {
    if (this.#asking || this.#ended === this.#submitted) return
    this.#asking = true
    const answered = (): void => {
      this.#asking = false
    }
    // Whoever waits for the work hears of a loss; whoever only asks sees no end of it.
    void this.worked().then(answered, answered)
  }
}
