/** A fleet without time: events in order, from one job to the next. */
import { mean, quantile } from "simple-statistics"
import type { MakeDecider } from "./Deciders.ts"
import { capacities, type Job, totalBytes } from "./Load.ts"

export interface Outcome {
  /** In milliseconds, over all jobs but the first. */
  readonly meanWait: number
  readonly wait95: number
  readonly mostWait: number
  /** The mean over the jobs that only the largest devices could have. */
  readonly meanWaitOfLarge: number
  /** The part of the devices' bytes that is reserved, over the time in which jobs come. */
  readonly utilisation: number
  /** The part of the jobs that waited though a device had the bytes free when they came. */
  readonly needless: number
  /** How often later jobs got a device before one that could have been on it: the most for one job. */
  readonly mostBypasses: number
}

interface Ending {
  readonly at: number
  readonly host: number
  readonly job: Job
}

/** Jobs by the time of their end: a binary heap. */
class Endings {
  readonly #heap: Array<Ending> = []

  get first(): Ending | undefined {
    return this.#heap[0]
  }

  add(ending: Ending): void {
    const heap = this.#heap
    let at = heap.push(ending) - 1
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (heap[parent]!.at <= ending.at) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = ending
  }

  takeFirst(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      const child = (heap[left + 1]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? left + 1 : left
      if ((heap[child]?.at ?? Infinity) >= last.at) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

/** The part of the jobs at the beginning that finds the fleet empty, and does not count. */
const warmUp = 0.1

const largest = Math.max(...capacities)
const secondLargest = Math.max(...capacities.filter((bytes) => bytes < largest))

class Run {
  readonly waits: Array<number> = []
  readonly waitsOfLarge: Array<number> = []
  mostBypasses = 0
  needless = 0
  #byteMillis = 0
  readonly #decider: ReturnType<MakeDecider>
  readonly #endings = new Endings()
  readonly #free = capacities.slice()
  readonly #waiting = new Map<string, { readonly job: Job; bypasses: number }>()
  readonly #counts: (job: Job) => boolean
  readonly #until: number

  constructor(decider: ReturnType<MakeDecider>, jobs: ReadonlyArray<Job>) {
    this.#decider = decider
    const from = jobs[Math.floor(warmUp * jobs.length)]!.at
    this.#until = jobs.at(-1)!.at
    this.#counts = ({ at }) => at >= from
    for (const job of jobs) {
      this.#endUntil(job.at)
      this.#arrive(job)
    }
    this.#endUntil(Infinity)
    this.utilisation = this.#byteMillis / (totalBytes * (this.#until - from))
    this.needless /= this.waits.length
  }

  readonly utilisation: number

  #endUntil(time: number): void {
    for (let ending = this.#endings.first; ending !== undefined && ending.at <= time; ending = this.#endings.first) {
      this.#endings.takeFirst()
      const { at, host, job } = ending
      this.#free[host]! += job.bytes
      const hosts = this.#decider.of(host)
      hosts.ended(job.id, host, at)
      this.#begin(hosts, at)
    }
  }

  #arrive(job: Job): void {
    const hasRoom = this.#free.some((bytes) => bytes >= job.bytes)
    const hosts = this.#decider.choose(job)
    this.#waiting.set(job.id, { job, bypasses: 0 })
    hosts.ask(job)
    this.#begin(hosts, job.at)
    if (hasRoom && this.#counts(job) && this.#waiting.has(job.id)) this.needless++
  }

  #begin(hosts: ReturnType<ReturnType<MakeDecider>["choose"]>, now: number): void {
    for (const { host, id } of hosts.begun(now)) {
      const { bypasses, job } = this.#waiting.get(id)!
      this.#waiting.delete(id)
      for (const other of this.#waiting.values()) {
        if (other.job.at > job.at) break
        if (other.job.bytes <= capacities[host]!) other.bypasses++
      }
      this.mostBypasses = Math.max(this.mostBypasses, bypasses)
      this.#free[host]! -= job.bytes
      this.#endings.add({ at: now + job.millis, host, job })
      this.#count(job, now)
    }
  }

  #count(job: Job, now: number): void {
    if (!this.#counts(job)) return
    this.waits.push(now - job.at)
    if (job.bytes > secondLargest) this.waitsOfLarge.push(now - job.at)
    this.#byteMillis += job.bytes * Math.max(0, Math.min(now + job.millis, this.#until) - now)
  }
}

export const simulate = (make: MakeDecider, jobs: ReadonlyArray<Job>, seed: number): Outcome => {
  const run = new Run(make(capacities, seed), jobs)
  return {
    meanWait: mean(run.waits),
    wait95: quantile(run.waits, 0.95),
    mostWait: Math.max(...run.waits),
    meanWaitOfLarge: mean(run.waitsOfLarge),
    utilisation: run.utilisation,
    needless: run.needless,
    mostBypasses: run.mostBypasses
  }
}
