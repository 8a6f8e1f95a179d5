/**
 * How many jobs may have memory at a time, after jobs have waited for each other. As congestion control does it: a deadlock
 * halves the jobs; each job that ends makes room for one more, up to one less than were too many; and only after many have ended as many
 * are tried again. So programs that retry end with few deadlocks, however much their jobs need.
 *
 * Before the first deadlock there is none of these, and no job waits for another one to end.
 *
 * @since 0.1.0
 */

/** After so many jobs for each that may have memory, one more than was safe is tried. */
const endsBeforeTrial = 4

/** Each deadlock doubles the jobs that end before the next trial, but not beyond so many. */
const mostEndsBeforeTrial = 1 << 16

/** So often as long as the time before, at most, the limit stays when nothing comes back. */
const mostSilences = 8

/**
 * How many jobs may have memory at a time: fewer after a deadlock, one more for each that ends without one.
 *
 * @category models
 * @since 0.1.0
 */
export class JobLimit {
  /** So many jobs may have memory. */
  most = Infinity
  /** With so many jobs the last deadlock came. */
  tooMany = Infinity
  /** Jobs that have ended since the last deadlock or trial, while as many had memory as may. */
  #ended = 0
  #endsBeforeTrial = endsBeforeTrial
  /** Whether a job has ended since the last deadlock. */
  #hasHelped = true
  /** How often in a row nothing came back, and how often that must be. */
  #silences = 0
  #silencesBeforeRise = 1

  /** So many jobs that may have memory are left when a deadlock of so many ends: fewer if ending one did not help. */
  mostLeft(jobs: number): number {
    return this.#hasHelped ? Infinity : half(Math.min(jobs, this.most))
  }

  /** So many jobs waited for each other. */
  deadlocked(jobs: number): void {
    this.most = half(Math.min(jobs, this.most))
    this.tooMany = jobs
    this.#ended = 0
    this.#endsBeforeTrial = Math.min(2 * this.#endsBeforeTrial, mostEndsBeforeTrial)
    this.#hasHelped = false
    this.#silencesBeforeRise = 1
    this.#silences = 0
  }

  /** A job has ended that did not fail for a deadlock, and so many are left. */
  jobEnded(left: number): void {
    this.#hasHelped = true
    this.#silences = 0
    // Where fewer have memory than may, nothing is known about more.
    if (left + 1 < this.most) return
    this.#ended++
    if (this.most + 1 < this.tooMany) this.most++
    else if (this.#ended >= this.#endsBeforeTrial * this.most) {
      this.most++
      this.#ended = 0
    }
  }

  /**
   * Jobs wait, and nothing came back for the time of a deadlock's proof: those that have memory may wait for one that may have none yet.
   * A limit that was no help is doubled, each time after twice the time. Whether it was.
   */
  silent(): boolean {
    if (++this.#silences < this.#silencesBeforeRise) return false
    this.#silences = 0
    this.#silencesBeforeRise = Math.min(2 * this.#silencesBeforeRise, mostSilences)
    this.most *= 2
    return true
  }

  /** Whether so many have room that it is of no use any more. */
  get isWide(): boolean {
    return this.most >= 2 * this.tooMany
  }
}

const half = (jobs: number): number => Math.max(1, Math.floor(jobs / 2))
