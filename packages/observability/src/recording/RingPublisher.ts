/**
 * Writes what a memory publishes into a ring. Hits and ends of leases, which are the most frequent, are written without an event object.
 *
 * @internal
 */
import * as CallSite from "effect-gpu-pool/CallSite"
import type { ObservedMemory } from "effect-gpu-pool/EventHub"
import type { Block, Leasable, Lease } from "effect-gpu-pool/Lease"
import type { LeaseRequest } from "effect-gpu-pool/LeaseRequest"
import type { PoolEvent, Released } from "effect-gpu-pool/PoolEvent"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { Found } from "effect-gpu-pool/PoolObserver"
import type { PoolSource } from "effect-gpu-pool/PoolSource"
import type { Family } from "effect-gpu-pool/Request"
import type { WaitPolicy } from "effect-gpu-pool/Request"
import type { ChargedBudget, Origin } from "effect-gpu-pool/Reservation"
import { longestWait, type Publish } from "../events/EventMaker.ts"
import { InputRecorder, type InputWriter } from "../events/InputRecorder.ts"
import { PoolPublisher } from "../events/PoolPublisher.ts"
import type { EventChunk } from "./EventChunk.ts"
import { EventRow } from "./EventRow.ts"
import type { Asked, Input, InputFacts } from "./Inputs.ts"
import { memoryFacts } from "./MemoryFacts.ts"
import { keyOfFamily } from "./RecordingFacts.ts"
import type { Ring } from "./Ring.ts"
import { fixedPlaces } from "./Texts.ts"

/** The usual reason, since a lookup by a name that varies is slow. */
const { scopeClosed } = fixedPlaces

/** The most leases that it remembers; any other is written as if it were new. A power of two. */
const mostKnown = 4096

/** Parts of blocks mostly begin at multiples of 256 bytes. */
const bitsOfUnit = 8

/** A hash: leases of equal block, offset, size and label have one slot, and others mostly have other slots. */
const slotOf = ({ begin, whole: { number } }: Block, { label, size }: Lease): number =>
  (number ^ size ^ begin >>> bitsOfUnit ^ (label === undefined ? 0 : label.length)) & mostKnown - 1

/** What a lease says, and where its row is: the next lease of the block mostly says the same. */
class KnownLease {
  block = 0
  offset = 0
  size = 0
  label: string | undefined = undefined
  callSite: string | undefined = undefined
  /** The index of the row, in a filling of a chunk. */
  place = 0
  filling = 0
  /** How the hit was served; undefined for a lease that was no plain hit. */
  from: Origin | undefined = undefined
  wait = 0

  /** Leases of equal size have equal parts of a block. */
  says({ begin, whole: { number } }: Block, lease: Lease, filling: number): boolean {
    return this.block === number && this.offset === begin && this.filling === filling && this.size === lease.size &&
      this.label === lease.label && this.callSite === CallSite.of(lease)
  }
}

/** The sizes of a family that a filling of a chunk has; `known` is a cache of them, indexed by the size's remainder. */
interface NotedFamily {
  readonly sizes: Array<number>
  readonly known: Float64Array
}

const mostSizes = 1024

export class RingPublisher extends PoolPublisher implements InputWriter {
  readonly #memory: ObservedMemory
  readonly #ring: Ring
  readonly #onRanOut: () => void
  readonly #row = new EventRow()
  /** Remembered leases, by slot. */
  readonly #known = Array<KnownLease | undefined>(mostKnown)
  /** The index of the row that was written last, of those longer than a word. */
  #place = 0
  /** The current filling of a chunk, the families that it has, and the family of the last request. */
  #filling = 0
  readonly #families = new Map<Family, NotedFamily>()
  #family: Family | undefined = undefined
  #noted: NotedFamily | undefined = undefined
  readonly #inputs: InputRecorder

  constructor(memory: ObservedMemory, ring: Ring, now: () => number, onRanOut: () => void) {
    super(memory, now, (event, about) => this.#add(event, about))
    this.#memory = memory
    this.#ring = ring
    this.#onRanOut = onRanOut
    this.#row.memory = memory.number
    this.#inputs = new InputRecorder(this, memory)
  }

  /** Adds an event, with the facts about its family and budgets to the same chunk: a recording may have no other. */
  #add(event: PoolEvent | Asked | Input, about: Parameters<Publish<LeaseRequest>>[1]): void {
    const chunk = this.#open()
    if (about?.budget !== undefined) this.#noteBudgets(chunk, about.budget)
    if (about !== undefined && "wanted" in about && about.asks === undefined) {
      this.#note(chunk, about.source, about.family, about.size)
    }
    this.#row.set(event)
    this.#place = chunk.add(this.#row)
  }

  inputsOf(inputs: PoolInputs<Leasable>): PoolInputs<Leasable> {
    return this.#inputs.of(inputs)
  }

  found(what: Found, value: number, value2?: number): void {
    this.#inputs.found(what, value, value2)
  }

  asked(what: Asked["what"], request: LeaseRequest): void {
    this.#add(this.askedOf(what, request), request)
  }

  input(what: Input["what"], request: LeaseRequest | undefined, facts: InputFacts): void {
    this.#add(this.inputOf(what, request, facts), facts.budget === undefined ? undefined : { budget: facts.budget })
  }

  override hit(request: number, lease: Lease, from: Origin, source: PoolSource, waitPolicy: WaitPolicy): void {
    const block = lease.block!
    const chunk = this.#ring.open()
    const known = this.#known[slotOf(block, lease)]
    const wait = longestWait(waitPolicy)
    if (
      known !== undefined && known.says(block, lease, chunk.filling) && known.from === from && known.wait === wait
    ) chunk.addAgain(known.place, request, this.now())
    else this.#addHit(request, lease, from, source, wait)
  }

  #addHit(request: number, lease: Lease, from: Origin, source: PoolSource, wait: number): void {
    const block = lease.block!
    const chunk = this.#open()
    const row = this.#row
    const { family } = block.bin!
    this.#note(chunk, source, family, lease.size)
    const hit = { pool: source.service, family: String(family), queue: undefined, from, waitAtMost: wait }
    row.setHit(lease, block, { at: this.now(), request, ...hit })
    this.#place = chunk.add(row)
    this.#know(block, lease, from, wait)
  }

  override leased(request: LeaseRequest, block: Block, from: Origin): void {
    super.leased(request, block, from)
    this.#know(block, request.granted!, undefined, 0)
  }

  override released(lease: Lease, block: Block, why: Released["why"]): void {
    // Otherwise the machine reads nothing outside of itself in this step.
    if (this.#memory.machine.listens) this.#inputs.note()
    if (!block.value.recyclable) this.input("unusable", undefined, { value: block.whole.number, value2: block.begin })
    const chunk = this.#ring.open()
    const known = this.#known[slotOf(block, lease)]
    if (known !== undefined && known.says(block, lease, chunk.filling)) {
      chunk.addEnd(known.place, why === "scopeClosed" ? scopeClosed : fixedPlaces[why], this.now())
    } else super.released(lease, block, why)
  }

  override ranOut(request: LeaseRequest, stepsTried: Iterable<string>): void {
    super.ranOut(request, stepsTried)
    if (request.waitPolicy.isPart !== true) this.#onRanOut()
  }

  override limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    super.limitChanged(budget, from, to)
    // The limit bounds the size policy's blocks, so sizes are noted again.
    this.#forgetFamilies()
  }

  #forgetFamilies(): void {
    this.#families.clear()
    this.#family = undefined
  }

  /** Remembers that the row that was written last says what this lease says. */
  #know(block: Block, lease: Lease, from: Origin | undefined, wait: number): void {
    const known = this.#known[slotOf(block, lease)] ??= new KnownLease()
    known.block = block.whole.number
    known.offset = block.begin
    known.size = lease.size
    known.label = lease.label
    known.callSite = CallSite.of(lease)
    known.place = this.#place
    known.filling = this.#filling
    known.from = from
    known.wait = wait
  }

  /** The chunk for the next event. It gets the facts of this memory. */
  #open(): EventChunk {
    const chunk = this.#ring.open()
    if (chunk.filling === this.#filling) return chunk
    this.#filling = chunk.filling
    this.#row.texts = chunk.texts
    this.#forgetFamilies()
    if (!chunk.memories.has(this.memory.number)) chunk.memories.set(this.memory.number, memoryFacts(this.#memory))
    return chunk
  }

  /** Notes what a replay needs to know of a family and a size to serve the request again. */
  #note(chunk: EventChunk, source: PoolSource, family: Family, size: number): void {
    if (family !== this.#family) this.#noteFamily(chunk, source, family)
    const { known, sizes } = this.#noted!
    const slot = size % mostSizes
    if (known[slot] === size) return
    known[slot] = size
    const blockSize = source.blockSize(size, family)
    sizes.push(size, source.exactSize(size), blockSize, source.mostBorrowed(blockSize))
  }

  #noteFamily({ families }: EventChunk, source: PoolSource, family: Family): void {
    const { clears, service: pool } = source
    const splits = source.splitsFamily?.(family) ?? false
    const facts = { memory: this.memory.number, pool, family: String(family), clears, splits }
    const key = keyOfFamily(facts)
    const { sizes } = families.get(key) ?? { sizes: [] }
    families.set(key, { ...facts, sizes })
    this.#noted = this.#families.get(family) ?? { sizes, known: new Float64Array(mostSizes) }
    this.#families.set(family, this.#noted)
    this.#family = family
  }

  #noteBudgets({ budgets }: EventChunk, innermost: ChargedBudget): void {
    innermost.chain.forEach(({ limit, number, owner }, at) => {
      if (budgets.has(number)) return
      const kind = owner.kind === "budget" ? "budget" : "pool"
      const parent = innermost.chain[at + 1]?.number
      budgets.set(number, { number, memory: this.memory.number, kind, label: owner.name, maxBytes: limit, parent })
    })
  }
}
