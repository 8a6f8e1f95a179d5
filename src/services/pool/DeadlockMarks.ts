/**
 * What a look for deadlocks saw, so that the next one knows which requests have waited since, and to which queues nothing came back.
 *
 * @internal
 */
import type { Queue } from "../../domain/pool/machine/Request.ts"
import type { Watched } from "./DeadlockView.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"

/** The changes of a queue, and the number of arrivals, at a look. */
interface Mark {
  readonly changes: number
  readonly arrivals: number
}

/** The queues in which requests waited at a look. */
export class Marks {
  readonly #pool: Watched
  readonly #marks = new Map<Queue, Mark>()

  constructor(pool: Watched) {
    this.#pool = pool
    for (const { machine: { state } } of pool.peers) {
      for (const queue of state.queues) {
        this.#marks.set(queue, { changes: queue.changes(), arrivals: state.arrivals })
      }
    }
  }

  /** Whether nothing has come back to a queue since, and none of its requests looks for memory by itself. */
  isQuiet(queue: Queue): boolean {
    return this.#marks.get(queue)?.changes === queue.changes() && queue.atWork === 0
  }

  get hasQuiet(): boolean {
    const { isPublishing, machine: { state } } = this.#pool
    return !isPublishing && Array.from(state.queues).some((queue) => this.isQuiet(queue))
  }

  /** Whether a request has waited since then in a quiet queue. */
  hasWaited({ arrival }: LeaseRequest, queue: Queue): boolean {
    return arrival < (this.#marks.get(queue)?.arrivals ?? 0) && this.isQuiet(queue)
  }

  /** The marks of now. */
  renewed(): Marks {
    return new Marks(this.#pool)
  }
}

/** What the last look saw. */
export interface Seen {
  readonly marks: Marks
  /** The fingerprint when nothing was found last, how many looks at the same fingerprint may be left out, and how many were. */
  readonly fingerprint: number
  readonly toLeaveOut: number
  readonly leftOut: number
}
