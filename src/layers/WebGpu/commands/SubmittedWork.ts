/**
 * How much of the submitted work the device has done. It counts submits and writes, not commands, because a device
 * reports only when those end.
 *
 * @internal
 */
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { inScopes } from "./ErrorScopes.ts"

/** A submit of no commands: at its end the driver frees what was destroyed before it. */
export const submitNothing = ({ device, failures }: OpenDevice): void =>
  failures.follow("GPUQueue.submit", inScopes(device, () => device.queue.submit([])), () => [])

export class SubmittedWork {
  readonly #queue: WebGpuHandle.Queue
  /** How many submits and writes there were. */
  submitted = 0
  /** How many of them are known to have ended. */
  ended = 0
  #asking = false
  /** The last question to the device, which all ask together who wait for the same work. */
  #asked: { readonly until: number; readonly ended: Promise<void> } | undefined

  constructor(queue: WebGpuHandle.Queue) {
    this.#queue = queue
  }

  /** Settles when everything submitted until now has ended; on a device that gets lost it may never settle. */
  worked(): Promise<void> {
    const until = this.submitted
    if (this.#asked?.until !== until) {
      const ended = this.#queue.onSubmittedWorkDone().then(() => this.endedUpTo(until))
      this.#asked = { until, ended }
    }
    return this.#asked.ended
  }

  /** Lets the next question be also for the end of what has no position: an empty submit, or those of the program itself. */
  askAnew(): void {
    this.#asked = undefined
  }

  /** Notes that the work up to a position has ended, since later work has. */
  endedUpTo(position: number): void {
    this.ended = Math.max(this.ended, position)
  }

  /** Asks the device, once at a time. */
  ask(): void {
    if (this.#asking || this.ended === this.submitted) return
    this.#asking = true
    // On a loss, a fiber that waits for the work fails; a fiber that only asks sees that it has not ended.
    const answered = (): boolean => this.#asking = false
    void this.worked().then(answered, answered)
  }
}
