/**
 * What exists in one state: who has how many bytes, in which blocks, and which requests wait.
 *
 * @internal
 */
import { above } from "../../../Bisection.ts"
import { bytesText, countText, momentText, spanText } from "./Format.ts"
import { noLabel, noSite } from "./Grouping.ts"
import { Intervals } from "./Intervals.ts"
import type { Run } from "./Run.ts"

/** The leases of one label that were made at one call site. */
export interface Holder {
  readonly label: string
  readonly site: string
  /** The call site, and its callers where these were tracked. */
  readonly frames: ReadonlyArray<string>
  readonly bytes: number
  readonly leases: number
  /** The index of the oldest lease. */
  readonly oldest: number
}

export interface WaitingRequest {
  readonly label: string
  readonly site: string
  readonly size: number
  /** The state at which it began to wait. */
  readonly since: number
}

/** Which leases count, by when they began: after one state, and not after another. */
export interface Begun {
  /** Undefined for those from before the first event too. */
  readonly after: number | undefined
  readonly until: number
}

/** A lease, with the states from its first to its end. */
export interface LeaseFacts {
  readonly lease: number
  readonly label: string
  /** Its call site and the callers of that, the innermost first; empty where calls were not tracked. */
  readonly frames: ReadonlyArray<string>
  readonly size: number
  /** What it has of its block, from which byte on. */
  readonly bytes: number
  readonly offset: number
  readonly start: number
  readonly end: number
}

/** A block, and the lease in it that is meant, if one is. */
export interface BlockFacts {
  readonly block: number
  readonly capacity: number
  readonly memory: string
  readonly pool: string
  readonly family: string
  readonly start: number
  readonly end: number
  readonly lease: LeaseFacts | undefined
}

/** A block of a run, or a lease in it. */
export interface Place {
  readonly block: number
  readonly lease: number | undefined
}

const statesOf = (columns: { readonly start: Int32Array; readonly end: Int32Array }): Intervals =>
  new Intervals(Float64Array.from(columns.start), Float64Array.from(columns.end))

export class Moments {
  readonly #run: Run
  readonly #leases: Intervals
  readonly #waits: Intervals

  constructor(run: Run) {
    this.#run = run
    this.#leases = statesOf(run.timeline.leases)
    this.#waits = statesOf(run.timeline.waits)
  }

  /** The last state that is at least so many milliseconds before another one; -1 where none is. */
  stateBefore(state: number, millis: number): number {
    const times = this.#run.positions("time")
    return millis > 0 ? Math.min(state, above(times, times[state]! - millis) - 1) : state
  }

  /** The holders of the leases that pass the filter, and began when `begun` says, the most bytes first. */
  holders(
    state: number,
    passes: Uint8Array,
    { after = -1, until }: Begun = { after: undefined, until: state }
  ): ReadonlyArray<Holder> {
    const { leases: { label, site, size, start }, texts } = this.#run.timeline
    const found = new Map<string, { -readonly [K in keyof Holder]: Holder[K] }>()
    this.#leases.at(state, (lease) => {
      if (passes[lease] === 0 || start[lease]! <= after || start[lease]! > until) return
      const key = `${label[lease]} ${site[lease]}`
      const known = found.get(key)
      if (known === undefined) {
        const text = { label: texts[label[lease]!]! || noLabel, site: texts[site[lease]!]! || noSite }
        const frames = this.#framesOf(site[lease]!)
        found.set(key, { ...text, frames, bytes: size[lease]!, leases: 1, oldest: lease })
        return
      }
      known.bytes += size[lease]!
      known.leases += 1
      known.oldest = Math.min(known.oldest, lease)
    })
    return [...found.values()].sort((one, other) => other.bytes - one.bytes || one.oldest - other.oldest)
  }

  /** The lease that a block has at an offset in a state. */
  leaseAt(block: number, state: number, offset: number): number | undefined {
    const { leases } = this.#run.timeline
    let found: number | undefined
    this.#leases.at(state, (lease) => {
      const beyond = offset - leases.offset[lease]!
      if (leases.block[lease] === block && beyond >= 0 && beyond < leases.bytes[lease]!) found = lease
    })
    return found
  }

  /** The leases of a state, in the order in which they are drawn, from the lowest address on. */
  leasesIn(state: number, passes: Uint8Array): ReadonlyArray<number> {
    const { blocks: { address }, leases: { block, offset } } = this.#run.timeline
    const found: Array<number> = []
    this.#leases.at(state, (lease) => {
      if (passes[lease] !== 0) found.push(lease)
    })
    const addressOf = (lease: number): number => address[block[lease]!]! + offset[lease]!
    return found.sort((one, other) => addressOf(one) - addressOf(other))
  }

  factsOf({ block, lease }: Place): BlockFacts {
    const { blocks, memories, texts } = this.#run.timeline
    return {
      block,
      capacity: blocks.capacity[block]!,
      memory: memories[blocks.memory[block]!]?.name ?? "",
      pool: texts[blocks.pool[block]!]!,
      family: texts[blocks.family[block]!]!,
      start: blocks.start[block]!,
      end: blocks.end[block]!,
      lease: lease === undefined ? undefined : this.#leaseFacts(lease)
    }
  }

  #leaseFacts(lease: number): LeaseFacts {
    const { leases, texts } = this.#run.timeline
    return {
      lease,
      label: texts[leases.label[lease]!]! || noLabel,
      frames: this.#framesOf(leases.site[lease]!),
      size: leases.size[lease]!,
      bytes: leases.bytes[lease]!,
      offset: leases.offset[lease]!,
      start: leases.start[lease]!,
      end: leases.end[lease]!
    }
  }

  /** The frames of the text of a call site. */
  #framesOf(site: number): ReadonlyArray<string> {
    const { callStacks, texts } = this.#run.timeline
    const text = texts[site]!
    return callStacks[site] ?? (text === "" ? [] : [text])
  }

  /** From when to when something lasts, and how long. */
  lifeText({ end, start }: Pick<LeaseFacts, "end" | "start">): string {
    const times = this.#run.positions("time")
    const { states, timeStep } = this.#run
    const at = (state: number): string => `${momentText(times[state]!, timeStep)} (event ${countText(state)})`
    const isOpen = end >= states
    const lasted = spanText(times[isOpen ? states - 1 : end]! - times[start]!, timeStep)
    const from = start === 0 ? "before the first event" : at(start)
    const to = isOpen ? "the end of the recording, where it still exists" : at(end)
    return `from ${from} to ${to}: ${start === 0 || isOpen ? "at least " : ""}${lasted}`
  }

  /** Describes a block, and the lease that it has at an offset in a state. */
  blockText(block: number, state: number, offset: number): string {
    const { leases } = this.#run.timeline
    let parts = 0
    let bytes = 0
    this.#leases.at(state, (lease) => {
      if (leases.block[lease] !== block || leases.bytes[lease]! >= this.#run.timeline.blocks.capacity[block]!) return
      parts += 1
      bytes += leases.bytes[lease]!
    })
    const { capacity, family, lease, pool } = this.factsOf({ block, lease: this.leaseAt(block, state, offset) })
    const shared = parts === 0 ? "" : `, of which ${countText(parts)} leases have ${bytesText(bytes)}`
    const what = lease === undefined
      ? "held"
      : `${bytesText(lease.size)} for ${lease.label}, at ${lease.frames[0] ?? noSite}`
    const kinds = [pool, family].filter((text) => text !== "").join(", ")
    return `block of ${bytesText(capacity)} (${kinds})${shared}: ${what}`
  }

  /** The requests that wait, in the order of their arrival. */
  waiting(state: number, memory: number | undefined): ReadonlyArray<WaitingRequest> {
    const { texts, waits } = this.#run.timeline
    const places: Array<number> = []
    this.#waits.at(state, (place) => {
      if (memory === undefined || waits.memory[place] === memory) places.push(place)
    })
    return places.sort((one, other) => one - other).map((place) => ({
      label: texts[waits.label[place]!]! || noLabel,
      site: texts[waits.site[place]!]! || noSite,
      size: waits.size[place]!,
      since: waits.start[place]!
    }))
  }
}
