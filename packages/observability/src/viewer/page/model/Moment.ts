/**
 * What exists in one state: who has how many bytes, in which blocks, and which requests wait.
 *
 * @internal
 */
import { bytesText, countText } from "./Format.ts"
import { noLabel, noSite } from "./Grouping.ts"
import { Intervals } from "./Intervals.ts"
import type { Run } from "./Run.ts"

/** The leases of one label that were made at one call site. */
export interface Holder {
  readonly label: string
  readonly site: string
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

  /** The holders of the leases that pass the filter, the most bytes first. */
  holders(state: number, passes: Uint8Array): ReadonlyArray<Holder> {
    const { leases: { label, site, size }, texts } = this.#run.timeline
    const found = new Map<string, { label: string; site: string; bytes: number; leases: number; oldest: number }>()
    this.#leases.at(state, (lease) => {
      if (passes[lease] === 0) return
      const key = `${label[lease]} ${site[lease]}`
      const known = found.get(key)
      if (known === undefined) {
        const text = { label: texts[label[lease]!]! || noLabel, site: texts[site[lease]!]! || noSite }
        found.set(key, { ...text, bytes: size[lease]!, leases: 1, oldest: lease })
        return
      }
      known.bytes += size[lease]!
      known.leases += 1
      known.oldest = Math.min(known.oldest, lease)
    })
    return [...found.values()].sort((one, other) => other.bytes - one.bytes || one.oldest - other.oldest)
  }

  /** Describes a block, and the lease that it has at an offset in a state. */
  blockText(block: number, state: number, offset: number): string {
    const { blocks: { capacity, family, pool }, leases, texts } = this.#run.timeline
    const kinds = [texts[pool[block]!]!, texts[family[block]!]!].filter((text) => text !== "").join(", ")
    let what = "held"
    let parts = 0
    let bytes = 0
    this.#leases.at(state, (lease) => {
      if (leases.block[lease] !== block) return
      if (leases.bytes[lease]! < capacity[block]!) {
        parts += 1
        bytes += leases.bytes[lease]!
      }
      const beyond = offset - leases.offset[lease]!
      if (beyond < 0 || beyond >= leases.bytes[lease]!) return
      const label = texts[leases.label[lease]!]! || noLabel
      what = `${bytesText(leases.size[lease]!)} for ${label}, at ${texts[leases.site[lease]!]! || noSite}`
    })
    const shared = parts === 0 ? "" : `, of which ${countText(parts)} leases have ${bytesText(bytes)}`
    return `block of ${bytesText(capacity[block]!)} (${kinds})${shared}: ${what}`
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
