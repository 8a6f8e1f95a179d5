/**
 * Reads what the viewer draws from a recording. Events of an unknown block are counted, not drawn.
 *
 * @internal
 */
import { framesOf } from "effect-gpu-pool/CallStack"
import type * as PoolEvent from "effect-gpu-pool/PoolEvent"
import { AddressSpace } from "../AddressSpace.ts"
import { isFailure, type TooLarge } from "../events/Failure.ts"
import { type BlockFollower, BlockLedger } from "../recording/BlockLedger.ts"
import { kinds, placeOf } from "../recording/EventShape.ts"
import * as Recording from "../recording/Recording.ts"
import { Texts } from "../recording/Texts.ts"
import type { DrawnMemory, Failure, MemoryChange, Timeline } from "./Timeline.ts"

type Columns<Name extends string> = { readonly [N in Name]: Array<number> }

const columns = <Name extends string>(...names: ReadonlyArray<Name>): Columns<Name> =>
  Object.fromEntries(names.map((name) => [name, []])) as unknown as Columns<Name>

/** Bytes may exceed 32 bits; everything else is an index. */
const floats = new Set(["size", "capacity", "address", "offset", "bytes"])

/** The columns of a timeline. What has not ended lasts to the end. */
const typed = <A extends { readonly end: Int32Array }>(columns: Columns<keyof A & string>, end: number): A =>
  Object.fromEntries(
    Object.entries<Array<number>>(columns).map(([name, values]) => [
      name,
      floats.has(name) ? Float64Array.from(values) : Int32Array.from(values, (value) => value === -1 ? end : value)
    ])
  ) as unknown as A

const callStacksOf = (sites: Iterable<number>, texts: ReadonlyArray<string>): Timeline["callStacks"] =>
  Object.fromEntries(
    Array.from(sites, (site) => [site, framesOf(texts[site]!)] as const).filter(([, frames]) => frames.length > 1)
  )

const bounded = (bytes: number): number | null => Number.isFinite(bytes) ? bytes : null

/** A memory, and where its blocks are drawn. */
interface Memory {
  readonly addresses: AddressSpace
  readonly place: number
}

class Reader {
  readonly #ledger: BlockLedger
  readonly #texts = new Texts([""])
  readonly #memories: Array<DrawnMemory> = []
  readonly #names = new Set<string>()
  readonly #byNumber = new Map<number, Memory>()
  readonly #times: Array<number> = []
  readonly #kind: Array<number> = []
  /** Leases and blocks by their indices in the ledger. */
  readonly #leases = columns("start", "end", "size", "block", "offset", "bytes", "label", "site")
  readonly #blocks = columns("start", "end", "capacity", "address", "memory", "pool", "family")
  readonly #waits = columns("start", "end", "size", "label", "site", "memory", "served")
  readonly #waiting = new Map<number, number>()
  readonly #failures: Array<Failure> = []
  readonly #memoryChanges: Array<MemoryChange> = []
  #strays = 0
  /** The state after the event that is being read. */
  #state = 0

  readonly #follower: BlockFollower = {
    begins: ({ capacity, family, memory, pool }) => {
      const { addresses, place } = this.#memoryOf(memory, undefined, "")
      this.#blocks.start.push(this.#state)
      this.#blocks.end.push(-1)
      this.#blocks.capacity.push(capacity)
      this.#blocks.address.push(addresses.take(capacity))
      this.#blocks.memory.push(place)
      this.#blocks.pool.push(this.#texts.placeOf(pool))
      this.#blocks.family.push(this.#texts.placeOf(family))
    },
    leased: ({ bytes, callSite, label, offset, place, size }) => {
      this.#leases.start.push(this.#state)
      this.#leases.end.push(-1)
      this.#leases.size.push(size)
      this.#leases.block.push(place)
      this.#leases.offset.push(offset)
      this.#leases.bytes.push(bytes)
      this.#leases.label.push(this.#texts.placeOf(label))
      this.#leases.site.push(this.#texts.placeOf(callSite))
    },
    released: ({ lease }) => {
      this.#leases.end[lease] = this.#state
    },
    ends: ({ memory, place }) => {
      const { addresses } = this.#memoryOf(memory, undefined, "")
      this.#blocks.end[place] = this.#state
      addresses.give(this.#blocks.address[place]!, this.#blocks.capacity[place]!)
    }
  }

  constructor(recording: Recording.Recording) {
    for (const { device, label, maxBytes, number } of recording.memories) {
      this.#addMemory(number, label, device, maxBytes)
    }
    this.#ledger = new BlockLedger(recording, this.#follower)
    for (const event of Recording.events(recording)) this.#read(event)
  }

  #addMemory(number: number, label: string | undefined, device: string, maxBytes: number): Memory {
    const name = label === undefined || this.#names.has(label) ? `${label ?? "memory"} ${number}` : label
    this.#names.add(name)
    const place = this.#memories.push({ name, device, maxBytes: bounded(maxBytes) }) - 1
    const memory = { place, addresses: new AddressSpace() }
    this.#byNumber.set(number, memory)
    return memory
  }

  #memoryOf(number: number, label: string | undefined, device: string): Memory {
    return this.#byNumber.get(number) ?? this.#addMemory(number, label, device, Infinity)
  }

  #read(event: PoolEvent.PoolEvent): void {
    this.#times.push(event.at)
    this.#kind.push(placeOf(event._tag) ?? 0)
    this.#state++
    const memory = this.#memoryOf(event.memoryNumber, event.memory, event.device)
    if (!this.#ledger.take(event)) this.#strays++
    switch (event._tag) {
      case "Waiting":
        return this.#beginWait(memory, event)
      case "Waited":
        return this.#endWait(event)
      case "RanOut":
      case "GaveUp":
        return isFailure(event) ? this.#failed(memory, event) : undefined
      case "LimitChanged":
        return event.budgetNumber === undefined ? this.#changed(memory, "limit", bounded(event.to)) : undefined
      case "Lost":
        return this.#changed(memory, "lost", null)
      case "Closed":
        return this.#changed(memory, "closed", null)
    }
  }

  #beginWait(memory: Memory, { callSite, label, request, size }: PoolEvent.Waiting): void {
    if (this.#waiting.has(request)) return
    const place = this.#waits.start.push(this.#state) - 1
    this.#waits.end.push(-1)
    this.#waits.size.push(size)
    this.#waits.label.push(this.#texts.placeOf(label))
    this.#waits.site.push(this.#texts.placeOf(callSite))
    this.#waits.memory.push(memory.place)
    this.#waits.served.push(0)
    this.#waiting.set(request, place)
  }

  #endWait({ request, served }: PoolEvent.Waited): void {
    const place = this.#waiting.get(request)
    if (place === undefined) return
    this.#waits.end[place] = this.#state
    this.#waits.served[place] = Number(served)
    this.#waiting.delete(request)
  }

  #failed(memory: Memory, event: PoolEvent.RanOut | TooLarge): void {
    const isTooLarge = event._tag === "GaveUp"
    const { activeBytes, heldBytes } = isTooLarge ? this.#ledger.bytesOf(event.memoryNumber) : event
    this.#failures.push({
      state: this.#state,
      memory: memory.place,
      size: event.size,
      label: event.label ?? "",
      site: event.callSite ?? "",
      pool: event.pool,
      budget: event.budget ?? "",
      isTooLarge,
      stepsTried: isTooLarge ? [] : event.stepsTried,
      activeBytes,
      heldBytes
    })
  }

  #changed(memory: Memory, what: MemoryChange["what"], bytes: number | null): void {
    this.#memoryChanges.push({ state: this.#state, memory: memory.place, what, bytes })
  }

  timeline(facts: Pick<Timeline, "title" | "source" | "reason" | "takenAt" | "dropped">): Timeline {
    const end = this.#state + 1
    const texts = this.#texts.all.map((text) => text ?? "")
    return {
      ...facts,
      strays: this.#strays,
      memories: this.#stacked(),
      texts,
      callStacks: callStacksOf(new Set(this.#leases.site), texts),
      failures: this.#failures,
      memoryChanges: this.#memoryChanges,
      kinds: kinds.map(({ tag }) => tag),
      times: Float64Array.from(this.#times),
      kind: Uint8Array.from(this.#kind),
      leases: typed(this.#leases, end),
      blocks: typed(this.#blocks, end),
      waits: typed(this.#waits, end)
    }
  }

  /** Places the blocks of each memory above those of the memories before it. */
  #stacked(): ReadonlyArray<DrawnMemory> {
    const floors: Array<number> = []
    let height = 0
    for (const { addresses, place } of this.#byNumber.values()) {
      floors[place] = height
      height += addresses.height
    }
    for (let at = 0; at < this.#blocks.address.length; at++) {
      this.#blocks.address[at]! += floors[this.#blocks.memory[at]!]!
    }
    return this.#memories
  }
}

export const readTimeline = (recording: Recording.Recording, title: string): Timeline => {
  const { dropped, reason, source, takenAt } = recording
  return new Reader(recording).timeline({ title, source, reason, takenAt, dropped })
}
