/**
 * How many jobs may have memory at a time after a deadlock, as in congestion control: a deadlock halves the number; each job that ends
 * raises it by one, up to one less than the number that deadlocked; only after many jobs have ended is that number tried again. So
 * programs that retry end with few deadlocks, however much their jobs need.
 *
 * Before the first deadlock there is no such limit, and no job waits for another one to end.
 *
 * @since 0.1.0
 */

/** When so many jobs have ended for each job that may have memory, one more than was safe is tried. */
const endsBeforeTrial = 4

/** The most ends before a trial: each deadlock doubles their number, up to this. */
const mostEndsBeforeTrial = 1 << 16

/** The most silent periods in a row before the limit is doubled: their number doubles each time, up to this. */
const mostSilences = 8

/**
 * How many jobs may have memory at a time: fewer after a deadlock, one more for each that ends without one.
 *
 * @category models
 * @since 0.1.0
 */
export class JobLimit {
  /** How many jobs may have memory. */
  most = Infinity
  /** How many jobs were in the last deadlock. */
  tooMany = Infinity
  /** Jobs that have ended since the last deadlock or trial, while as many had memory as may have. */
  #ended = 0
  #endsBeforeTrial = endsBeforeTrial
  /** Whether a job has ended since the last deadlock. */
  #hasHelped = true
  /** How many silent periods came in a row, and how many double the limit. */
  #silences = 0
  #silencesBeforeRise = 1

  /** How many of the jobs in a deadlock may keep their memory: half of them, if ending the last deadlock did not help. */
  mostLeft(jobs: number): number {
    return this.#hasHelped ? Infinity : half(Math.min(jobs, this.most))
  }

  /** A deadlock of so many jobs. */
  deadlocked(jobs: number): void {
    this.most = half(Math.min(jobs, this.most))
    this.tooMany = jobs
    this.#ended = 0
    this.#endsBeforeTrial = Math.min(2 * this.#endsBeforeTrial, mostEndsBeforeTrial)
    this.#hasHelped = false
    this.#silencesBeforeRise = 1
    this.#silences = 0
  }

  /** A job has ended, not by a deadlock, and `left` have memory still. */
  jobEnded(left: number): void {
    this.#hasHelped = true
    this.#silences = 0
    // If fewer jobs had memory than may have, this says nothing about more.
    if (left + 1 < this.most) return
    this.#ended++
    if (this.most + 1 < this.tooMany) this.most++
    else if (this.#ended >= this.#endsBeforeTrial * this.most) {
      this.most++
      this.#ended = 0
    }
  }

  /**
   * A silent period: jobs wait, and nothing came back for `deadlockTimeout`. Jobs that have memory may wait for a job that the limit
   * holds back. Doubles the limit after one such period, then after two, four and eight in a row. Returns whether it did.
   */
  silent(): boolean {
    if (++this.#silences < this.#silencesBeforeRise) return false
    this.#silences = 0
    this.#silencesBeforeRise = Math.min(2 * this.#silencesBeforeRise, mostSilences)
    this.most *= 2
    return true
  }

  /** Whether the limit has grown so much that it is of no use any more. */
  get isWide(): boolean {
    return this.most >= 2 * this.tooMany
  }
}

const half = (jobs: number): number => Math.max(1, Math.floor(jobs / 2))
