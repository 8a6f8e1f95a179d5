/**
 * The touched workload: in each step one of 32 live buffers is replaced by a new one of another size, and the device copies
 * 256 bytes into it. Sizes are log-uniform from 256 bytes to 4 MiB, in multiples of 4; each run of a process has its own.
 */
import { Effect, Schema } from "effect"
import * as Random from "./Random.ts"

export const steps = 10_000
export const slots = 32
export const copyBytes = 256
export const stepsPerFlush = 64
export const runs = 6

const leastBytes = 256
const mostBytes = 4 * 1024 * 1024

export interface Step {
  readonly slot: number
  readonly size: number
}

/** What happens in the n-th run: the same for every contender. */
export const plan = (run: number, live = slots): ReadonlyArray<Step> => {
  const next = Random.make(run + 1)
  return Array.from({ length: steps }, () => ({
    slot: Math.floor(next() * live),
    size: Random.logUniform(next, leastBytes, mostBytes)
  }))
}

/** The most bytes that are requested at one time. */
export const peakLiveBytes = (plan: ReadonlyArray<Step>): number => {
  const live = new Float64Array(slots)
  let bytes = 0
  let peak = 0
  for (const { size, slot } of plan) {
    bytes += size - live[slot]!
    live[slot] = size
    peak = Math.max(peak, bytes)
  }
  return peak
}

export const Figures = Schema.Struct({
  /** The time of each run, the wait for the queue at its end included. */
  millis: Schema.Array(Schema.Finite),
  /** The share of leases in each run that were hits, in percent; empty without a pool. */
  hitRates: Schema.Array(Schema.Finite),
  /** Null without a pool. */
  peakManagedBytes: Schema.NullOr(Schema.Finite),
  peakLiveBytes: Schema.Finite,
  /** The most memory that the process ever had, in bytes. */
  peakResidentBytes: Schema.Finite
})

export type Figures = typeof Figures.Type

/** The results of one run. */
export interface Run {
  readonly millis: number
  readonly peakLiveBytes: number
  readonly hitRate?: number | undefined
}

export const eachRun = <E, R>(
  body: (run: number) => Effect.Effect<Run, E, R>
): Effect.Effect<ReadonlyArray<Run>, E, R> => Effect.forEach(Array.from({ length: runs }, (_, run) => run), body)

export const figures = (done: ReadonlyArray<Run>, peakManagedBytes: number | undefined): Figures => ({
  millis: done.map(({ millis }) => millis),
  hitRates: done.flatMap(({ hitRate }) => hitRate === undefined ? [] : [hitRate]),
  peakManagedBytes: peakManagedBytes ?? null,
  peakLiveBytes: Math.max(...done.map(({ peakLiveBytes }) => peakLiveBytes)),
  peakResidentBytes: process.resourceUsage().maxRSS * 1024
})
