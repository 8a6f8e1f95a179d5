/** What a simulated fleet has, and what it is asked for. */
import * as Random from "../Random.ts"

const gibi = 2 ** 30

/** The capacities of the devices, one on each host. */
export const capacities: ReadonlyArray<number> = [8, 16, 24, 80].flatMap((size, n) =>
  Array.from({ length: n < 2 ? 8 : 4 }, () => size * gibi)
)

export const totalBytes = capacities.reduce((sum, bytes) => sum + bytes, 0)

const least = 0.25 * gibi
const most = 40 * gibi
const meanBytes = (most - least) / Math.log(most / least)

/** How long a reservation lasts on average, in milliseconds. */
export const meanMillis = 10_000

export interface Job {
  readonly id: string
  /** When it is asked for. */
  readonly at: number
  readonly bytes: number
  /** How long it lasts. */
  readonly millis: number
}

const exponential = (next: () => number, mean: number): number => -mean * Math.log(1 - next())

/**
 * Jobs of all sizes that come independently of each other. With a load of 1 they ask for all that the devices have, on
 * average over time.
 */
export const jobs = (seed: number, load: number, count: number): ReadonlyArray<Job> => {
  const next = Random.make(seed)
  const pause = meanBytes * meanMillis / (load * totalBytes)
  let at = 0
  return Array.from({ length: count }, (_, n) => {
    at += exponential(next, pause)
    return { id: `job ${n}`, at, bytes: Random.logUniform(next, least, most), millis: exponential(next, meanMillis) }
  })
}
