/**
 * How many bytes each group of leases has in any state, and all of them together.
 *
 * @internal
 */
import { type Grouping, leftOut } from "./Grouping.ts"
import { Peaks } from "./Peaks.ts"
import { type Changes, type Run, statesPerMark } from "./Run.ts"

/** The bytes of all groups are stored for every 16th state; those between are summed up when they are read. */
export const apart = 16

/** For each stretch between marks, the bytes of all groups are also stored for the state with the most bytes: wide columns show it. */
const perPeak = statesPerMark

export class Stack {
  readonly run: Run
  readonly grouping: Grouping
  /** For each state, the bytes of all leases of all groups. */
  readonly active: Float64Array
  readonly greatest: Peaks
  readonly least: Peaks
  readonly #stored: Float64Array
  readonly #groups: number
  /** What {@link bytesOf} has read last. */
  readonly #lastBytes: Float64Array
  #lastRead = -1
  /** The states with the most bytes, and the bytes of all groups in each. */
  readonly #peaks: Int32Array
  readonly #atPeaks: Float64Array

  constructor(run: Run, grouping: Grouping) {
    this.run = run
    this.grouping = grouping
    this.#groups = grouping.names.length
    this.#lastBytes = new Float64Array(this.#groups)
    this.active = new Float64Array(run.states)
    this.#stored = new Float64Array(Math.ceil(run.states / apart) * this.#groups)
    const now = new Float64Array(this.#groups)
    let sum = 0
    for (let state = 0; state < run.states; state++) {
      sum += this.#apply(state, now)
      this.active[state] = sum
      if (state % apart === 0) this.#stored.set(now, state / apart * this.#groups)
    }
    this.greatest = new Peaks(this.active)
    this.least = new Peaks(this.active, -1)
    this.#peaks = new Int32Array(Math.ceil(run.states / perPeak)).fill(-1)
    this.#atPeaks = new Float64Array(this.#peaks.length * this.#groups)
    for (let at = 0; at < this.#peaks.length; at++) {
      const peak = this.greatest.between(at * perPeak, Math.min(run.states, (at + 1) * perPeak) - 1)
      this.read(peak, now)
      this.#atPeaks.set(now, at * this.#groups)
      this.#peaks[at] = peak
    }
  }

  /** Adds the changes at a state to the bytes of the groups, and returns their sum. */
  #apply(state: number, bytes: Float64Array): number {
    const { from, of } = this.run.leaseChanges
    let all = 0
    for (let at = from[state]!; at < from[state + 1]!; at++) {
      const change = of[at]!
      const lease = Math.abs(change) - 1
      const group = this.grouping.of[lease]!
      if (group === leftOut) continue
      const size = Math.sign(change) * this.run.timeline.leases.size[lease]!
      bytes[group]! += size
      all += size
    }
    return all
  }

  /** The bytes of one group in a state. */
  bytesOf(state: number, group: number): number {
    if (this.#lastRead !== state) this.read(state, this.#lastBytes)
    this.#lastRead = state
    return this.#lastBytes[group]!
  }

  /** The group whose area has a number of bytes in a state, counted from the bottom; undefined above all areas. */
  groupAt(state: number, bytes: number): number | undefined {
    let top = 0
    for (let group = 0; group < this.#groups; group++) {
      top += Math.max(0, this.bytesOf(state, group))
      if (bytes >= 0 && bytes < top) return group
    }
    return undefined
  }

  /** Writes the bytes of each group in a state. */
  read(state: number, into: Float64Array): void {
    const near = Math.floor(state / perPeak)
    if (this.#peaks[near] === state) {
      for (let group = 0; group < this.#groups; group++) into[group] = this.#atPeaks[near * this.#groups + group]!
      return
    }
    const stored = Math.floor(state / apart)
    for (let group = 0; group < this.#groups; group++) into[group] = this.#stored[stored * this.#groups + group]!
    for (let next = stored * apart + 1; next <= state; next++) this.#apply(next, into)
  }
}

/** For each state, the sum of the bytes of everything that exists then. */
const sums = (states: number, { from, of }: Changes, bytes: (at: number) => number): Float64Array => {
  const all = new Float64Array(states)
  let sum = 0
  for (let state = 0; state < states; state++) {
    for (let at = from[state]!; at < from[state + 1]!; at++) sum += Math.sign(of[at]!) * bytes(Math.abs(of[at]!) - 1)
    all[state] = sum
  }
  return all
}

/** What does not depend on groups: the bytes of blocks and of leased blocks, the limit, and how many requests wait. */
export class Totals {
  readonly managed: Float64Array
  /** What leases have of blocks. */
  readonly leased: Float64Array
  readonly waiting: Float64Array
  /** Infinity where a memory has none. */
  readonly limit: Float64Array
  readonly mostManaged: Peaks
  readonly mostWaiting: Peaks

  constructor(run: Run, memory: number | undefined) {
    const { timeline: { blocks, leases, waits } } = run
    const inside = (of: number): boolean => memory === undefined || of === memory
    const isInside = (block: number): boolean => inside(blocks.memory[block]!)
    this.managed = sums(run.states, run.blockChanges, (block) => isInside(block) ? blocks.capacity[block]! : 0)
    this.leased = sums(run.states, run.leaseChanges, (of) => isInside(leases.block[of]!) ? leases.bytes[of]! : 0)
    this.waiting = sums(run.states, run.waitChanges, (wait) => inside(waits.memory[wait]!) ? 1 : 0)
    this.limit = limitsOf(run, inside)
    this.mostManaged = new Peaks(this.managed)
    this.mostWaiting = new Peaks(this.waiting)
  }
}

const limitsOf = (
  { states, timeline: { memories, memoryChanges } }: Run,
  inside: (of: number) => boolean
): Float64Array => {
  const now = memories.map(({ maxBytes }, memory) => inside(memory) ? maxBytes : 0)
  const all = new Float64Array(states)
  const changes = memoryChanges.filter(({ memory, what }) => what === "limit" && inside(memory))
  let sum = 0
  let unlimited = 0
  const count = (bytes: number | null, times: 1 | -1): void => {
    if (bytes === null) unlimited += times
    else sum += times * bytes
  }
  for (const bytes of now) count(bytes, 1)
  let next = 0
  for (let state = 0; state < states; state++) {
    for (; next < changes.length && changes[next]!.state <= state; next++) {
      const { bytes, memory } = changes[next]!
      count(now[memory]!, -1)
      count(now[memory] = bytes, 1)
    }
    all[state] = unlimited > 0 ? Infinity : sum
  }
  return all
}
