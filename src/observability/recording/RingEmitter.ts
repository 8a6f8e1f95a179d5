/**
 * Writes what a memory tells into a ring. Hits and the ends of leases, which happen the most, make no event on the way.
 *
 * @internal
 */
import type { Released } from "../../domain/pool/PoolEvent.ts"
import type { Block, Family, Giver, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { Heard } from "../../services/pool/EventHub.ts"
import type { ChargedBudget, Origin } from "../../services/pool/waiting/Charge.ts"
import type { LeaseRequest, Patience } from "../../services/pool/waiting/LeaseRequest.ts"
import { longestWait, PoolEmitter } from "../events/PoolEmitter.ts"
import {
  bitsOfKind,
  type EventChunk,
  type FamilyNote,
  fixedPlaces,
  numbersPerEvent,
  type Texts,
  wordsPerEvent
} from "./EventChunk.ts"
import { columns, placeOf } from "./EventShape.ts"
import { memoryFacts } from "./MemoryFacts.ts"
import type { Ring } from "./Ring.ts"

const leased = placeOf("Leased")!
const released = placeOf("Released")!
/** Looking up a name that varies is slow, and mostly it is one of these. */
const { held: heldPlace, scopeClosed: scopeClosedPlace } = fixedPlaces

/** A family, and where a chunk has its texts. */
interface Noted {
  readonly sizes: FamilyNote["sizes"]
  readonly pool: number
  readonly family: number
}

export class RingEmitter extends PoolEmitter {
  readonly #ring: Ring
  readonly #onRanOut: () => void
  /** The kinds of events, each with the number of the memory. */
  readonly #leased: number
  readonly #released: number
  /** What the last event said, in this filling of its chunk: mostly the next one says the same. */
  #filling = 0
  #family: Family | undefined = undefined
  #note: Noted | undefined = undefined
  #size = -1
  #source: Giver | undefined = undefined
  #pool = 0
  #label: string | undefined = undefined
  #labelPlace = 0

  constructor(memory: Heard, ring: Ring, now: () => number, onRanOut: () => void) {
    super(memory, now, (event) => this.#open().add(event))
    this.#ring = ring
    this.#onRanOut = onRanOut
    this.#leased = leased | memory.number << bitsOfKind
    this.#released = released | memory.number << bitsOfKind
  }

  override hit(
    request: number,
    block: Block,
    from: Origin,
    source: PoolSource,
    label: string | undefined,
    callSite: string | undefined,
    patience: Patience
  ): void {
    const chunk = this.#open()
    const size = block.request
    const family = block.bin!.family
    if (family !== this.#family) this.#noteFamily(chunk, source, family)
    if (size !== this.#size) this.#noteSize(source, size)
    const { numbers, texts, words } = chunk
    const note = this.#note!
    let at = chunk.length++ * numbersPerEvent
    numbers[at] = this.now()
    numbers[at + columns.request] = request
    numbers[at + columns.block] = block.number
    numbers[at + columns.size] = size
    numbers[at + columns.capacity] = block.capacity
    numbers[at + columns.waitAtMost] = longestWait(patience)
    numbers[at + columns.under] = 0
    at = (chunk.length - 1) * wordsPerEvent
    words[at] = this.#leased
    words[at + columns.pool] = note.pool
    words[at + columns.family] = note.family
    words[at + columns.label] = label === undefined ? 0 : this.#placeOf(texts, label)
    words[at + columns.budget] = 0
    words[at + columns.budgetNumber] = 0
    words[at + columns.queue] = 0
    words[at + columns.callSite] = callSite === undefined ? 0 : texts.placeOf(callSite)
    words[at + columns.detail] = from === "held" ? heldPlace : fixedPlaces[from]
  }

  override released({ label, size }: Lease, block: Block, why: Released["why"]): void {
    const chunk = this.#open()
    const { numbers, texts, words } = chunk
    const source = block.value.pooledBy
    if (source !== this.#source) this.#noteSource(chunk, source)
    let at = chunk.length++ * numbersPerEvent
    numbers[at] = this.now()
    numbers[at + columns.block] = block.number
    numbers[at + columns.size] = size
    numbers[at + columns.capacity] = block.capacity
    at = (chunk.length - 1) * wordsPerEvent
    words[at] = this.#released
    words[at + columns.pool] = this.#pool
    words[at + columns.label] = label === undefined ? 0 : this.#placeOf(texts, label)
    words[at + columns.detail] = why === "scopeClosed" ? scopeClosedPlace : fixedPlaces[why]
  }

  override ranOut(request: LeaseRequest, rungs: Iterable<string>): void {
    super.ranOut(request, rungs)
    if (request.patience.isPart !== true) this.#onRanOut()
  }

  override limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    if (budget !== undefined) this.#noteBudgets(budget)
    super.limitChanged(budget, from, to)
  }

  override closing(source: PoolSource | undefined, pool: ChargedBudget | undefined): void {
    if (pool !== undefined) this.#noteBudgets(pool)
    super.closing(source, pool)
  }

  protected override noteRequest({ asks, budget, size, source, wanted }: LeaseRequest): void {
    if (budget !== undefined) this.#noteBudgets(budget)
    if (asks !== undefined) return
    this.#noteFamily(this.#open(), source, source.family(wanted))
    this.#noteSize(source, size)
  }

  /** The chunk that the next event goes to, which knows this memory. */
  #open(): EventChunk {
    const chunk = this.#ring.open()
    if (chunk.filling !== this.#filling) {
      this.#filling = chunk.filling
      this.#family = undefined
      this.#source = undefined
      this.#label = undefined
      if (!chunk.memories.has(this.memory.number)) chunk.memories.set(this.memory.number, memoryFacts(this.memory))
    }
    return chunk
  }

  #noteFamily({ families, texts }: EventChunk, source: PoolSource, family: Family): void {
    const memory = this.memory.number
    const name = String(family)
    const key = `${memory} ${name}`
    let note = families.get(key)
    if (note === undefined) {
      note = { facts: { memory, pool: source.service, family: name, clears: source.clears }, sizes: new Map() }
      families.set(key, note)
    }
    this.#family = family
    this.#note = { sizes: note.sizes, pool: texts.placeOf(source.service), family: texts.placeOf(name) }
    this.#size = -1
  }

  #noteSize(source: PoolSource, size: number): void {
    const { sizes } = this.#note!
    this.#size = size
    if (sizes.has(size)) return
    const blockSize = source.blockSize(size)
    sizes.set(size, [size, source.exactSize(size), blockSize, source.mostBorrowed(blockSize)])
  }

  #noteSource({ texts }: EventChunk, source: Giver | undefined): void {
    this.#source = source
    this.#pool = texts.placeOf(source?.service ?? "pool")
  }

  #placeOf(texts: Texts, label: string): number {
    if (label !== this.#label) {
      this.#label = label
      this.#labelPlace = texts.placeOf(label)
    }
    return this.#labelPlace
  }

  #noteBudgets(innermost: ChargedBudget): void {
    const { budgets } = this.#open()
    innermost.chain.forEach(({ limit, number, owner }, at) => {
      if (budgets.has(number)) return
      const kind = owner.kind === "budget" ? "budget" : "pool"
      const parent = innermost.chain[at + 1]?.number
      budgets.set(number, { number, memory: this.memory.number, kind, label: owner.name, maxBytes: limit, parent })
    })
  }
}
