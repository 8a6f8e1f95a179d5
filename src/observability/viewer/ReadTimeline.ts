/**
 * Reads what the viewer draws from a recording. Recordings of other programs, and those that begin in the middle, say odd
 * things: what contradicts what came before is taken as the news, and what names an unknown block is counted, not drawn.
 *
 * @internal
 */
import type * as PoolEvent from "../../domain/pool/PoolEvent.ts"
import { kinds, placeOf } from "../recording/EventShape.ts"
import * as Recording from "../recording/Recording.ts"
import { Addresses } from "./Addresses.ts"
import { bytes, floats, integers } from "./Columns.ts"
import type { Blocks, DrawnMemory, Failure, Leases, Timeline, Turn, Waits } from "./Timeline.ts"

/** Bytes as they can be drawn. */
const drawable = (bytes: number): number => Number.isFinite(bytes) && bytes > 0 ? bytes : 0

const bounded = (bytes: number): number | null => Number.isFinite(bytes) ? bytes : null

/** Texts, each once. */
class Texts {
  readonly all: Array<string> = [""]
  readonly #places = new Map<string, number>([["", 0]])

  place(text: string | undefined): number {
    if (text === undefined) return 0
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#places.set(text, this.all.length)
    return this.all.push(text) - 1
  }
}

/** A memory, its blocks by number, and where they are drawn. */
class Memory {
  readonly blocks = new Map<number, number>()
  readonly addresses = new Addresses()
  readonly place: number

  constructor(place: number) {
    this.place = place
  }
}

type OfBlock = PoolEvent.Leased | PoolEvent.Kept
interface Begun {
  readonly size: number
  readonly label?: string | undefined
  readonly callSite?: string | undefined
}

class Reader {
  readonly #texts = new Texts()
  readonly #memories: Array<DrawnMemory> = []
  readonly #byNumber = new Map<number, Memory>()
  readonly #times = floats()
  readonly #kind = bytes()
  readonly #leases = {
    start: integers(),
    end: integers(),
    size: floats(),
    block: integers(),
    label: integers(),
    site: integers()
  }
  readonly #blocks = {
    start: integers(),
    end: integers(),
    capacity: floats(),
    address: floats(),
    memory: integers(),
    pool: integers(),
    family: integers()
  }
  /** Of each block, its lease and one more; 0 for none. */
  readonly #leaseOf = integers()
  readonly #waits = {
    start: integers(),
    end: integers(),
    size: floats(),
    label: integers(),
    site: integers(),
    memory: integers(),
    served: integers()
  }
  readonly #waiting = new Map<number, number>()
  readonly #failures: Array<Failure> = []
  readonly #turns: Array<Turn> = []
  #strays = 0
  /** After the event that is being read. */
  #state = 0

  constructor(recording: Recording.Recording) {
    for (const { device, label, maxBytes, number } of recording.memories) {
      this.#addMemory(number, label, device, maxBytes)
    }
    for (const { block, capacity, family, lease, memory, pool } of recording.blocks) {
      const owner = this.#memoryOf(memory, undefined, "")
      const place = this.#begin(owner, block, capacity, pool, family)
      if (lease !== undefined) this.#lease(place, lease)
    }
    for (const event of Recording.events(recording)) this.#read(event)
  }

  #addMemory(number: number, label: string | undefined, device: string, maxBytes: number): Memory {
    const alike = this.#memories.filter((memory) => memory.name === (label ?? `memory ${number}`)).length
    const name = label === undefined || alike > 0 ? `${label ?? "memory"} ${number}` : label
    const memory = new Memory(this.#memories.push({ name, device, maxBytes: bounded(maxBytes) }) - 1)
    this.#byNumber.set(number, memory)
    return memory
  }

  #memoryOf(number: number, label: string | undefined, device: string): Memory {
    return this.#byNumber.get(number) ?? this.#addMemory(number, label, device, Infinity)
  }

  #read(event: PoolEvent.PoolEvent): void {
    const before = this.#times.length === 0 ? 0 : this.#times.get(this.#times.length - 1)
    this.#times.push(Number.isFinite(event.at) ? event.at : before)
    this.#kind.push(placeOf(event._tag) ?? 0)
    this.#state++
    const memory = this.#memoryOf(event.memoryNumber, event.memory, event.device)
    switch (event._tag) {
      case "Leased":
        return this.#leased(memory, event)
      case "Kept":
        return void this.#begin(memory, event.block, event.capacity, event.pool, event.family)
      case "Released":
        return this.#released(memory, event.block)
      case "Freed":
        return this.#freed(memory, event.block)
      case "Waiting":
        return this.#beginWait(memory, event)
      case "Waited":
        return this.#endWait(event)
      case "RanOut":
        return this.#ranOut(memory, event)
      case "LimitChanged":
        return event.budgetNumber === undefined ? this.#turn(memory, "limit", bounded(event.to)) : undefined
      case "Lost":
        return this.#turn(memory, "lost", null)
      case "Closed":
        return this.#closed(memory)
    }
  }

  #leased(memory: Memory, event: OfBlock & PoolEvent.Leased): void {
    const known = event.from === "driver" ? undefined : memory.blocks.get(event.block)
    const place = known ?? this.#begin(memory, event.block, event.capacity, event.pool, event.family)
    this.#lease(place, event)
  }

  /** A block of this number that is still there is another one, whose end is not recorded. */
  #begin(memory: Memory, block: number, capacity: number, pool: string, family: string | undefined): number {
    this.#end(memory, block)
    const bytes = drawable(capacity)
    const place = this.#blocks.start.push(this.#state)
    this.#blocks.end.push(-1)
    this.#blocks.capacity.push(bytes)
    this.#blocks.address.push(memory.addresses.take(bytes))
    this.#blocks.memory.push(memory.place)
    this.#blocks.pool.push(this.#texts.place(pool))
    this.#blocks.family.push(this.#texts.place(family))
    this.#leaseOf.push(0)
    memory.blocks.set(block, place)
    return place
  }

  #lease(place: number, { callSite, label, size }: Begun): void {
    this.#endLease(place)
    const lease = this.#leases.start.push(this.#state)
    this.#leases.end.push(-1)
    this.#leases.size.push(drawable(size))
    this.#leases.block.push(place)
    this.#leases.label.push(this.#texts.place(label))
    this.#leases.site.push(this.#texts.place(callSite))
    this.#leaseOf.set(place, lease + 1)
  }

  /** Whether there was one. */
  #endLease(place: number): boolean {
    const lease = this.#leaseOf.get(place) - 1
    if (lease < 0) return false
    this.#leases.end.set(lease, this.#state)
    this.#leaseOf.set(place, 0)
    return true
  }

  #released(memory: Memory, block: number): void {
    const place = memory.blocks.get(block)
    if (place === undefined || !this.#endLease(place)) this.#strays++
  }

  #freed(memory: Memory, block: number): void {
    if (!this.#end(memory, block)) this.#strays++
  }

  /** Whether there was such a block. */
  #end(memory: Memory, block: number): boolean {
    const place = memory.blocks.get(block)
    if (place === undefined) return false
    this.#endLease(place)
    this.#blocks.end.set(place, this.#state)
    memory.addresses.give(this.#blocks.address.get(place), this.#blocks.capacity.get(place))
    return memory.blocks.delete(block)
  }

  #beginWait(memory: Memory, { callSite, label, request, size }: PoolEvent.Waiting): void {
    const place = this.#waits.start.push(this.#state)
    this.#waits.end.push(-1)
    this.#waits.size.push(drawable(size))
    this.#waits.label.push(this.#texts.place(label))
    this.#waits.site.push(this.#texts.place(callSite))
    this.#waits.memory.push(memory.place)
    this.#waits.served.push(0)
    this.#waiting.set(request, place)
  }

  #endWait({ request, served }: PoolEvent.Waited): void {
    const place = this.#waiting.get(request)
    if (place === undefined) return
    this.#waits.end.set(place, this.#state)
    this.#waits.served.set(place, served ? 1 : 0)
    this.#waiting.delete(request)
  }

  #ranOut(memory: Memory, event: PoolEvent.RanOut): void {
    this.#failures.push({
      state: this.#state,
      memory: memory.place,
      size: drawable(event.size),
      label: event.label ?? "",
      site: event.callSite ?? "",
      pool: event.pool,
      budget: event.budget ?? "",
      rungs: event.rungs,
      activeBytes: drawable(event.activeBytes),
      heldBytes: drawable(event.heldBytes)
    })
  }

  #turn(memory: Memory, what: Turn["what"], bytes: number | null): void {
    this.#turns.push({ state: this.#state, memory: memory.place, what, bytes })
  }

  /** Its leases and blocks have ended, even where the recording does not say so of each. */
  #closed(memory: Memory): void {
    for (const block of memory.blocks.keys()) this.#end(memory, block)
    this.#turn(memory, "closed", null)
  }

  timeline(facts: Pick<Timeline, "title" | "source" | "reason" | "takenAt" | "dropped">): Timeline {
    const end = this.#state + 1
    return {
      ...facts,
      strays: this.#strays,
      memories: this.#stacked(),
      texts: this.#texts.all,
      failures: this.#failures,
      turns: this.#turns,
      kinds: kinds.map(({ tag }) => tag),
      times: this.#times.all(),
      kind: this.#kind.all(),
      leases: ended(values(this.#leases) as Leases, end),
      blocks: ended(values(this.#blocks) as Blocks, end),
      waits: ended(values(this.#waits) as Waits, end)
    }
  }

  /** Puts the blocks of each memory over those of the memories before it. */
  #stacked(): ReadonlyArray<DrawnMemory> {
    const heights = [...this.#byNumber.values()].map(({ addresses }) => addresses.height)
    const floors = heights.map((_, at) => heights.slice(0, at).reduce((sum, height) => sum + height, 0))
    for (let at = 0; at < this.#blocks.address.length; at++) {
      this.#blocks.address.set(at, this.#blocks.address.get(at) + floors[this.#blocks.memory.get(at)]!)
    }
    return this.#memories
  }
}

const values = (columns: Record<string, { all(): Float64Array | Int32Array }>): object =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column.all()]))

/** What has not ended lasts to the end. */
const ended = <A extends { readonly end: Int32Array }>(columns: A, end: number): A => {
  for (let at = 0; at < columns.end.length; at++) if (columns.end[at] === -1) columns.end[at] = end
  return columns
}

export const readTimeline = (recording: Recording.Recording, title: string): Timeline => {
  const { dropped, reason, source, takenAt } = recording
  return new Reader(recording).timeline({ title, source, reason, takenAt, dropped })
}
