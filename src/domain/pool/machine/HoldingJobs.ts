/**
 * The jobs that have memory which a queue waits for, while their number is limited (`JobLimit`). At the limit, a request of a job without
 * memory waits until one of them ends. A request of a job that has memory is never held back.
 *
 * @since 0.1.0
 */
import type { Key } from "./Deadlock.ts"
import { JobLimit } from "./JobLimit.ts"

/**
 * What keeps a job among those that have memory: a lease, a reservation, or a request that may have some.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kept {
  readonly hasEnded: boolean
}

/**
 * A request, as the limit of jobs knows it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Asking extends Kept {
  /** The keys of its job, which has memory when one of these has. */
  readonly jobKeys: ReadonlyArray<Key>
  /** The keys of the owners of the memory that it will get. */
  readonly memoryKeys: ReadonlyArray<Key>
}

/**
 * Which jobs may have memory that a queue waits for.
 *
 * @category models
 * @since 0.1.0
 */
export interface AdmittedJobs {
  /** Called with each answer that a queue gets. */
  answered: ((answer: boolean) => void) | undefined
  /** Whether new reservations are held back too: after a deadlock of jobs whose reservations were too small. */
  readonly countsReservations: boolean
  /** Whether the limit can be dropped; `isIdle` if no request waits. */
  isOver(isIdle: boolean): boolean
  /** Whether the job with one of these keys has memory. */
  has(keys: ReadonlyArray<Key>): boolean
  /** A step begins: jobs may have ended since the last one. */
  lookAgain(): void
  /**
   * Whether a request may have memory now. If so, its job counts as having memory from then on, until what the request gets has ended.
   * `mayWait` is false for requests that the limit does not hold back.
   */
  admit(request: Asking, mayWait: boolean): boolean
  /** Nothing came back for a while, and requests are held back. Returns whether more jobs may have memory now. */
  isRaised(): boolean
}

class Job {
  /** Whether the limit counts it. A job whose requests are exempt does not count. */
  isCounted: boolean
  /** Whether it failed for a deadlock: then its end says nothing about the limit. */
  hasFailed = false
  readonly keys = new Set<Key>()
  readonly #kept = new Set<Kept>()
  /** At this size it removes what has ended. */
  #most = 16

  constructor(isCounted: boolean) {
    this.isCounted = isCounted
  }

  keep(kept: Kept, keys: ReadonlyArray<Key>): void {
    this.#kept.add(kept)
    for (const key of keys) this.keys.add(key)
    if (this.#kept.size < this.#most) return
    for (const one of this.#kept) if (one.hasEnded) this.#kept.delete(one)
    this.#most = 2 * this.#kept.size + 16
  }

  get hasEnded(): boolean {
    for (const one of this.#kept) {
      if (!one.hasEnded) return false
      this.#kept.delete(one)
    }
    return true
  }
}

/**
 * The jobs with memory, and how many may have some.
 *
 * @category models
 * @since 0.1.0
 */
export class HoldingJobs implements AdmittedJobs {
  readonly limit = new JobLimit()
  readonly #jobs = new Set<Job>()
  readonly #ofKey = new Map<Key, Job>()
  countsReservations = false
  answered: ((answer: boolean) => void) | undefined = undefined
  /** Whether as many jobs have memory as may have, as computed in this step. */
  #isFull = false

  /** How many jobs have memory now. Removes those that have ended meanwhile. */
  get count(): number {
    let count = 0
    for (const job of this.#jobs) {
      if (job.hasEnded) this.#end(job)
      else if (job.isCounted) count++
    }
    return count
  }

  /** Whether the job with one of these keys has memory. */
  has(keys: ReadonlyArray<Key>): boolean {
    return this.#answer(this.#find(keys) !== undefined)
  }

  isOver(isIdle: boolean): boolean {
    return this.#answer(this.limit.isWide || (isIdle && this.count === 0))
  }

  isRaised(): boolean {
    return this.#answer(this.count >= this.limit.most && this.limit.silent())
  }

  #answer(answer: boolean): boolean {
    this.answered?.(answer)
    return answer
  }

  lookAgain(): void {
    this.#isFull = false
  }

  admit(request: Asking, mayWait: boolean): boolean {
    const known = this.#find(request.jobKeys)
    if (known === undefined && mayWait) {
      this.#isFull ||= this.count >= this.limit.most
      if (this.#isFull) return this.#answer(false)
    }
    this.#keep(known ?? new Job(mayWait), request.memoryKeys, request)
    return this.#answer(true)
  }

  /** A job was in a deadlock. These are the keys of its memory. */
  deadlocked(keys: ReadonlyArray<Key>, kept: ReadonlyArray<Kept>, hasFailed: boolean): void {
    const job = this.#find(keys) ?? new Job(true)
    job.isCounted = true
    job.hasFailed = hasFailed
    for (const one of kept) this.#keep(job, keys, one)
  }

  #keep(job: Job, keys: ReadonlyArray<Key>, kept: Kept): void {
    job.keep(kept, keys)
    this.#jobs.add(job)
    for (const key of keys) this.#ofKey.set(key, job)
  }

  #find(keys: ReadonlyArray<Key>): Job | undefined {
    for (const key of keys) {
      const job = this.#ofKey.get(key)
      if (job === undefined) continue
      if (!job.hasEnded) return job
      this.#end(job)
    }
    return undefined
  }

  #end(job: Job): void {
    this.#jobs.delete(job)
    for (const key of job.keys) if (this.#ofKey.get(key) === job) this.#ofKey.delete(key)
    if (!job.isCounted || job.hasFailed) return
    let left = 0
    for (const { isCounted } of this.#jobs) if (isCounted) left++
    this.limit.jobEnded(left)
  }
}
