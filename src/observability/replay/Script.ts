/**
 * What a recording says of each request, known before it is replayed.
 *
 * @internal
 */
import type { OfRequest, PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { isTooLarge } from "../events/Failure.ts"
import { BlockLedger } from "../recording/BlockLedger.ts"
import { EventReader } from "../recording/EventReader.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { columns, placeOf } from "../recording/EventShape.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily } from "../recording/RecordingFacts.ts"
import { namesOf, type Recording } from "../recording/RecordingModel.ts"

const leasedKind = placeOf("Leased")!
const releasedKind = placeOf("Released")!

/** One call of the driver for a request. */
export interface RecordedCall {
  readonly askedAt: number
  /** The place of the event with its answer among all events; `Infinity` when the recording ends before. */
  answer: number
  answeredAt: number
  /** Why it was refused; undefined when it was not. */
  why: string | undefined
}

/** What became of one request. */
export class Fate {
  /** The bytes that it asks for. */
  readonly size: number
  /** The place of its first event among all events. */
  readonly first: number
  /** It asks for bytes of any family to be set aside, or for a turn. */
  isReservation: boolean
  hasReserved = false
  /** When its lease or its reservation began; undefined when it had none, or began at once. */
  leasedAt: number | undefined = undefined
  wasServed = false
  calls: Array<RecordedCall> | undefined = undefined
  /** How many of these have an answer: they are answered in order. */
  answers = 0
  /** How many events the recording has of it. */
  events = 0
  /** After how many of its events handlers are asked. */
  asksAfter: Set<number> | undefined = undefined
  /** The place of the last event that says that handlers were asked. */
  lastHandlers = -1
  /** How many events it has before that. */
  beforeLastHandlers = -1
  /** How it went on then, if not with their answer. */
  handlersEnd: "interrupted" | "late" | "failed" | undefined = undefined
  /** Its scope closed before it had a lease. */
  lostScope = false
  /** The place of its last event before that was told. */
  beforeLost = -1
  /** The place of its last event so far. */
  last = -1
  /** The block that it got first. */
  block = -1

  /** It asks for a turn, and not for bytes. */
  get isTurn(): boolean {
    return this.isReservation && this.size === 0 && !this.hasReserved
  }

  constructor(first: number, isReservation: boolean, size: number) {
    this.size = size
    this.first = first
    this.isReservation = isReservation
  }
}

const servedAtOnce = new Fate(-1, false, 0)
servedAtOnce.wasServed = true

/** What a recording says of one memory. */
export class MemoryScript {
  readonly families: Array<RecordedFamily> = []
  readonly budgets: Array<RecordedBudget> = []
  /** Those before the first event. */
  readonly blocks: Array<RecordedBlock> = []
  /** The place of its last event. */
  last = -1
  /** Where a request begins that asks handlers first, and the last event of handlers being asked; -1 for none. */
  firstHandlers = Infinity
  lastHandlers = -1
  readonly queues = new Set<string>()
  /** The least bytes with which the driver had no memory any more, the refused ones among them. */
  refusedAt = Infinity
  /** The most bytes that it managed. */
  peakBytes = 0
}

export class Script {
  /** Of requests that were served at once there is nothing to tell. */
  readonly fates = new Map<number, Fate>()
  readonly memories = new Map<number, MemoryScript>()
  /** The blocks whose leases ended as a pool or the memory closed, in order, by the place of the event that says that. */
  readonly closings = new Map<number, Array<number>>()
  /** Turns that tell nothing before they end, in that order: no other has run meanwhile. */
  readonly silentTurns: Array<OfRequest> = []
  readonly #ledger: BlockLedger
  #closing: Array<number> = []
  /** The last event says that this one needs memory. */
  #needs: Fate | undefined = undefined
  #at = 0

  constructor(recording: Recording) {
    this.#ledger = new BlockLedger(recording)
    for (const family of recording.families) this.memory(family.memory).families.push(family)
    for (const budget of recording.budgets) this.memory(budget.memory).budgets.push(budget)
    for (const block of recording.blocks) this.memory(block.memory).blocks.push(block)
    const names = namesOf(recording)
    for (const reader = new EventReader(recording); reader.next(); this.#at++) {
      this.memory(reader.row.memory).last = this.#at
      const event = this.#isUsual(reader.row) ? undefined : reader.row.event(names)
      if (event?._tag !== "Freed" || event.why !== "evicted") this.#noteHandlers()
      this.#needs = undefined
      if (event !== undefined) this.#add(event)
    }
    this.#noteHandlers()
    for (const { number } of recording.memories) {
      this.memory(number).peakBytes = this.#ledger.bytesOf(number).peakManagedBytes
    }
  }

  memory(number: number): MemoryScript {
    const known = this.memories.get(number)
    if (known !== undefined) return known
    const made = new MemoryScript()
    this.memories.set(number, made)
    return made
  }

  /** Most events are hits and ends of leases, which change no managed bytes, and tell nothing that a replay has to know before. */
  #isUsual(row: EventRow): boolean {
    const { kind, values } = row
    const why = row.text(columns.detail)
    if (kind === releasedKind) return why !== "poolClosed"
    // Where queues are told apart, a replay has to know which block it got.
    const isAlone = values[columns.queue] === 0 && !this.fates.has(values[columns.request]!)
    return kind === leasedKind && why !== "driver" && isAlone
  }

  /** What needs memory evicts for it in the same step, or has asked handlers. */
  #noteHandlers(): void {
    const fate = this.#needs
    if (fate !== undefined) (fate.asksAfter ??= new Set()).add(fate.events - 1)
  }

  #add(event: PoolEvent): void {
    if (event._tag === "Released") {
      this.#closing.push(event.block)
      return
    }
    // Usual events change no managed bytes: the ledger is spared other hits too.
    if (event._tag !== "Leased" || event.from === "driver") this.#ledger.take(event)
    if ("request" in event) this.#ofRequest(event)
    else if (event._tag === "Closing") this.closings.set(this.#at, this.#closing = [])
  }

  /** What became of a request. */
  fateOf(request: number): Fate {
    return this.fates.get(request) ?? servedAtOnce
  }

  #ofRequest(event: Extract<PoolEvent, OfRequest>): void {
    const fate = this.#fateOf(event)
    this.#addOfRequest(event, this.memory(event.memoryNumber), fate)
    fate.last = this.#at
    fate.events++
  }

  #fateOf({ family, request, size }: OfRequest): Fate {
    const known = this.fates.get(request)
    if (known !== undefined) return known
    const fate = new Fate(this.#at, family === "", size)
    this.fates.set(request, fate)
    return fate
  }

  #addOfRequest(event: Extract<PoolEvent, OfRequest>, memory: MemoryScript, fate: Fate): void {
    if (event.queue !== undefined) memory.queues.add(event.queue)
    switch (event._tag) {
      case "DriverAsked":
        fate.isReservation = false
        fate.calls ??= []
        fate.calls.push({ askedAt: event.at, answer: Infinity, answeredAt: Infinity, why: undefined })
        return
      case "Leased":
        fate.isReservation = false
        fate.leasedAt = event.at
        fate.block = event.block
        fate.wasServed = true
        if (event.from === "driver") this.#answered(event, fate, undefined)
        return
      case "Kept":
        return this.#answered(event, fate, undefined)
      case "Refused":
        if (event.why === "OutOfMemory") {
          const { managedBytes } = this.#ledger.bytesOf(event.memoryNumber)
          memory.refusedAt = Math.min(memory.refusedAt, managedBytes + event.capacity)
        }
        return this.#answered(event, fate, event.why)
      case "GaveUp":
        fate.lostScope = event.why === "scopeClosed"
        if (fate.lostScope) fate.beforeLost = fate.last
        else if (fate.lastHandlers >= 0 && fate.lastHandlers === fate.last && !isTooLarge(event)) {
          fate.handlersEnd = event.why as "interrupted" | "failed"
        }
        return
      case "RoomNeeded":
        this.#needs = fate
        return
      case "HandlersAsked":
        fate.lastHandlers = this.#at
        fate.beforeLastHandlers = fate.events
        memory.firstHandlers = Math.min(memory.firstHandlers, fate.first)
        memory.lastHandlers = this.#at
        return
      case "RanOut":
        if (fate.lastHandlers === fate.last && event.rungs.includes("wait")) fate.handlersEnd = "late"
        return
      case "Reserved":
        fate.hasReserved = true
        fate.leasedAt = event.at
        fate.wasServed = true
        return
      case "ReservationEnded":
        if (fate.first === this.#at && fate.isTurn) this.silentTurns.push(event)
    }
  }

  #answered(
    { at }: PoolEvent,
    fate: Fate,
    why: string | undefined
  ): void {
    const call = fate.calls?.[fate.answers]
    if (call === undefined) return
    fate.answers++
    call.answer = this.#at
    call.answeredAt = at
    call.why = why
  }
}
