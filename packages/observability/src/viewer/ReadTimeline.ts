/**
 * Reads what the viewer draws from a recording. Events of an unknown block are counted, not drawn.
 *
 * @internal
 */
import type * as PoolEvent from "effect-gpu-pool/PoolEvent"
import { isFailure, type TooLarge } from "../events/Failure.ts"
import { type BlockFollower, BlockLedger } from "../recording/BlockLedger.ts"
import { kinds, placeOf } from "../recording/EventShape.ts"
import * as Recording from "../recording/Recording.ts"
import { Texts } from "../recording/Texts.ts"
import { Addresses } from "./Addresses.ts"
import { bytes, floats, integers } from "./Columns.ts"
import type { Blocks, DrawnMemory, Failure, Leases, Timeline, Turn, Waits } from "./Timeline.ts"

const bounded = (bytes: number): number | null => Number.isFinite(bytes) ? bytes : null

/** A memory, and where its blocks are drawn. */
interface Memory {
  readonly addresses: Addresses
  readonly place: number
}

class Reader {
  readonly #ledger: BlockLedger
  readonly #texts = new Texts([""])
  readonly #memories: Array<DrawnMemory> = []
  readonly #names = new Set<string>()
  readonly #byNumber = new Map<number, Memory>()
  readonly #times = floats()
  readonly #kind = bytes()
  /** Leases and blocks by their indices in the ledger. */
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
    leased: ({ callSite, label, place, size }) => {
      this.#leases.start.push(this.#state)
      this.#leases.end.push(-1)
      this.#leases.size.push(size)
      this.#leases.block.push(place)
      this.#leases.label.push(this.#texts.placeOf(label))
      this.#leases.site.push(this.#texts.placeOf(callSite))
    },
    released: ({ lease }) => this.#leases.end.set(lease, this.#state),
    ends: ({ memory, place }) => {
      const { addresses } = this.#memoryOf(memory, undefined, "")
      this.#blocks.end.set(place, this.#state)
      addresses.give(this.#blocks.address.get(place), this.#blocks.capacity.get(place))
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
    const memory = { place, addresses: new Addresses() }
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
        return event.budgetNumber === undefined ? this.#turn(memory, "limit", bounded(event.to)) : undefined
      case "Lost":
        return this.#turn(memory, "lost", null)
      case "Closed":
        return this.#turn(memory, "closed", null)
    }
  }

  #beginWait(memory: Memory, { callSite, label, request, size }: PoolEvent.Waiting): void {
    if (this.#waiting.has(request)) return
    const place = this.#waits.start.push(this.#state)
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
    this.#waits.end.set(place, this.#state)
    this.#waits.served.set(place, served ? 1 : 0)
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

  #turn(memory: Memory, what: Turn["what"], bytes: number | null): void {
    this.#turns.push({ state: this.#state, memory: memory.place, what, bytes })
  }

  timeline(facts: Pick<Timeline, "title" | "source" | "reason" | "takenAt" | "dropped">): Timeline {
    const end = this.#state + 1
    return {
      ...facts,
      strays: this.#strays,
      memories: this.#stacked(),
      texts: this.#texts.all.map((text) => text ?? ""),
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

  /** Places the blocks of each memory above those of the memories before it. */
  #stacked(): ReadonlyArray<DrawnMemory> {
    const floors: Array<number> = []
    let height = 0
    for (const { addresses, place } of this.#byNumber.values()) {
      floors[place] = height
      height += addresses.height
    }
    for (let at = 0; at < this.#blocks.address.length; at++) {
      this.#blocks.address.set(at, this.#blocks.address.get(at) + floors[this.#blocks.memory.get(at)]!)
    }
    return this.#memories
  }
}

const values = (columns: Record<string, { all(): Float64Array | Int32Array }>): object =>
  Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column.all()]))

/** Makes what has not ended last to the end. */
const ended = <A extends { readonly end: Int32Array }>(columns: A, end: number): A => {
  for (let at = 0; at < columns.end.length; at++) if (columns.end[at] === -1) columns.end[at] = end
  return columns
}

export const readTimeline = (recording: Recording.Recording, title: string): Timeline => {
  const { dropped, reason, source, takenAt } = recording
  return new Reader(recording).timeline({ title, source, reason, takenAt, dropped })
}
