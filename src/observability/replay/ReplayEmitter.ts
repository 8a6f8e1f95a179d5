/**
 * Hears what a replayed memory does, and tells it under the numbers of the recording.
 *
 * @internal
 */
import type { Patience } from "../../domain/pool/machine/Request.ts"
import type { ChargedBudget, Origin } from "../../domain/pool/machine/Reservation.ts"
import type { FreeReason, GaveUp, Released } from "../../domain/pool/PoolEvent.ts"
import type { Block, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { Emitter } from "../../services/pool/EventHub.ts"
import type { LeaseRequest } from "../../services/pool/LeaseRequest.ts"
import type { Tally } from "./Tally.ts"
import type { Ticket } from "./Ticket.ts"
import type { Turns } from "./Turns.ts"

/** What a replay does when a memory tells it something. */
export interface Listening {
  /** A request that is made is made in its turn. */
  readonly turns: Turns
  readonly tickets: ReadonlyMap<number, Ticket>
  /** The driver is asked for this one in this step. */
  asking: Ticket | undefined
  /** How many events it has told: the place that the next one has. */
  told: number
  granted(ticket: Ticket, block: Block): void
}

/** Its kinds of events that belong to no request, and how many of them it has told. */
export interface Told {
  count: number
}

export class ReplayEmitter implements Emitter {
  readonly #replay: Listening
  readonly #tally: Tally
  /** Those that have said that they wait, and not that they do no more. */
  readonly #waiting = new WeakSet<LeaseRequest>()
  readonly #told: Told
  /** Makes events, if they are wanted. */
  readonly #events: Emitter | undefined

  constructor(replay: Listening, tally: Tally, told: Told, events: Emitter | undefined) {
    this.#replay = replay
    this.#tally = tally
    this.#told = told
    this.#events = events
  }

  /** A request has no number before its first event, which happens in the step in which it is made. */
  #ticketOf(request: LeaseRequest): Ticket | undefined {
    this.#replay.told++
    const numbered = request.asks ?? request
    if (numbered.number === 0) {
      const { current } = this.#replay.turns
      if (current === undefined) return undefined
      numbered.number = current.asked.request
      current.request = request
    }
    const ticket = this.#replay.tickets.get(numbered.number)
    if (ticket !== undefined) ticket.told++
    return ticket
  }

  #tellOfMemory(): void {
    this.#replay.told++
    this.#told.count++
  }

  hit(_request: number, lease: Lease, from: Origin, source: PoolSource, patience: Patience): void {
    const { current } = this.#replay.turns
    if (current === undefined) return
    const block = lease.block!
    this.#replay.told++
    current.told++
    this.#tally.leased(current.asked, block.capacity, from)
    this.#replay.granted(current, block)
    // A hit makes no request of the pool that could have the number of the recording.
    this.#events?.hit(current.asked.request, lease, from, source, patience)
  }

  leased(request: LeaseRequest, block: Block, from: Origin): void {
    const ticket = this.#ticketOf(request)
    if (ticket !== undefined) {
      this.#tally.leased(ticket.asked, block.capacity, from)
      this.#replay.granted(ticket, block)
    }
    this.#events?.leased(request, block, from)
  }

  driverAsked(request: LeaseRequest, capacity: number): void {
    this.#replay.asking = this.#ticketOf(request)
    this.#events?.driverAsked(request, capacity)
  }

  kept(request: LeaseRequest, block: Block): void {
    this.#ticketOf(request)
    this.#tally.kept(block.capacity)
    this.#events?.kept(request, block)
  }

  released(lease: Lease, block: Block, why: Released["why"]): void {
    this.#tellOfMemory()
    this.#tally.released(lease.size)
    this.#events?.released(lease, block, why)
  }

  freed(block: Block, why: FreeReason): void {
    this.#tellOfMemory()
    this.#tally.freed(block.capacity, why)
    this.#events?.freed(block, why)
  }

  reclaimed(): void {
    this.#tellOfMemory()
    this.#events?.reclaimed()
    this.#replay.turns.told()
  }

  refused(request: LeaseRequest, capacity: number, why: string): void {
    this.#ticketOf(request)
    this.#tally.refusals++
    this.#events?.refused(request, capacity, why)
  }

  roomNeeded(request: LeaseRequest, missing: number): void {
    this.#ticketOf(request)
    this.#events?.roomNeeded(request, missing)
  }

  gaveUp(request: LeaseRequest, why: GaveUp["why"]): void {
    this.#ticketOf(request)
    this.#events?.gaveUp(request, why)
  }

  waiting(request: LeaseRequest): void {
    const ticket = this.#ticketOf(request)
    if (ticket !== undefined && !this.#waiting.has(request)) this.#tally.waiting(ticket.asked)
    this.#waiting.add(request)
    this.#events?.waiting(request)
  }

  waited(request: LeaseRequest, served: boolean): void {
    if (!this.#waiting.delete(request)) return
    const ticket = this.#ticketOf(request)
    if (ticket !== undefined) this.#tally.waited(ticket.asked)
    this.#events?.waited(request, served)
  }

  reserved(request: LeaseRequest): void {
    this.#ticketOf(request)
    this.#events?.reserved(request)
  }

  reservationEnded(request: LeaseRequest): void {
    this.#ticketOf(request)
    this.#events?.reservationEnded(request)
  }

  handlersAsked(request: LeaseRequest, freed: boolean): void {
    this.#ticketOf(request)
    this.#events?.handlersAsked(request, freed)
  }

  ranOut(request: LeaseRequest, rungs: Iterable<string>): void {
    if (request.patience.isPart !== true) this.#ticketOf(request)
    this.#events?.ranOut(request, rungs)
  }

  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    this.#tellOfMemory()
    this.#events?.limitChanged(budget, from, to)
  }

  trimAsked(to: number | undefined, queue: string | undefined): void {
    this.#tellOfMemory()
    this.#events?.trimAsked(to, queue)
  }

  holdingChanged(holds: boolean): void {
    this.#tellOfMemory()
    this.#events?.holdingChanged(holds)
  }

  idleStep(steps: number): void {
    this.#tellOfMemory()
    this.#events?.idleStep(steps)
  }

  lost(): void {
    this.#tellOfMemory()
    this.#events?.lost()
  }

  closing(source: PoolSource | undefined, pool: ChargedBudget | undefined): void {
    this.#tellOfMemory()
    this.#events?.closing(source, pool)
  }

  closed(): void {
    this.#tellOfMemory()
    this.#events?.closed()
  }
}
