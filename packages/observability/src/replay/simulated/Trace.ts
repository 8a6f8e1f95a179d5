/**
 * What a recording says of each request, known before it is replayed.
 *
 * @internal
 */
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import { BlockLedger } from "../../recording/BlockLedger.ts"
import { EventReader } from "../../recording/EventReader.ts"
import type { EventRow } from "../../recording/EventRow.ts"
import { columns, placeOf } from "../../recording/EventShape.ts"
import { namesOf, type Recording } from "../../recording/RecordingModel.ts"
import { contentsOf, type MemoryContent } from "../ReplayedMemory.ts"

const leasedKind = placeOf("Leased")!
const releasedKind = placeOf("Released")!

/** One call of the driver for a request. */
export interface RecordedCall {
  readonly askedAt: number
  answeredAt: number
  /** Why it was refused; undefined when it was not. */
  why: string | undefined
}

/** What became of one request. */
export class Outcome {
  /** The bytes that it asks for. */
  readonly size: number
  /** The place of its first event among all events. */
  readonly first: number
  /** It asks for bytes of any family to be reserved, or for an exclusive section. */
  isReservation: boolean
  hasReserved = false
  /** When its lease or its reservation began; undefined when it had none, or began at once. */
  leasedAt: number | undefined = undefined
  wasServed = false
  calls: Array<RecordedCall> | undefined = undefined
  /** How many of these have an answer: they are answered in order. */
  answers = 0
  /** The place of the last event that says that handlers were asked. */
  lastHandlers = -1
  /** The place of its last event so far. */
  last = -1

  /** It asks for an exclusive section, and not for bytes. */
  get isSection(): boolean {
    return this.isReservation && this.size === 0 && !this.hasReserved
  }

  constructor(first: number, isReservation: boolean, size: number) {
    this.size = size
    this.first = first
    this.isReservation = isReservation
  }
}

const servedAtOnce = new Outcome(-1, false, 0)
servedAtOnce.wasServed = true

/** What a recording says of one memory. */
export class MemoryTrace implements MemoryContent {
  readonly families: MemoryContent["families"]
  readonly budgets: MemoryContent["budgets"]
  readonly blocks: MemoryContent["blocks"]
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

  constructor({ blocks, budgets, families }: MemoryContent) {
    this.families = families
    this.budgets = budgets
    this.blocks = blocks
  }
}

export class Trace {
  /** Of requests that were served at once there is nothing to tell. */
  readonly outcomes = new Map<number, Outcome>()
  readonly memories = new Map<number, MemoryTrace>()
  readonly #ledger: BlockLedger
  readonly #contentOf: ReturnType<typeof contentsOf>
  #at = 0

  constructor(recording: Recording) {
    this.#ledger = new BlockLedger(recording)
    this.#contentOf = contentsOf(recording)
    const names = namesOf(recording)
    for (const reader = new EventReader(recording); reader.next(); this.#at++) {
      this.memory(reader.row.memory).last = this.#at
      const event = this.#isUsual(reader.row) ? undefined : reader.row.event(names)
      if (event !== undefined) this.#add(event)
    }
    for (const { number } of recording.memories) {
      this.memory(number).peakBytes = this.#ledger.bytesOf(number).peakManagedBytes
    }
  }

  memory(number: number): MemoryTrace {
    const known = this.memories.get(number)
    if (known !== undefined) return known
    const made = new MemoryTrace(this.#contentOf(number))
    this.memories.set(number, made)
    return made
  }

  /** Most events are hits and ends of leases, which change no managed bytes, and tell nothing that a replay has to know before. */
  #isUsual(row: EventRow): boolean {
    const { kind, values } = row
    if (kind === releasedKind) return true
    // Where queues are told apart, a replay has to know which block it got.
    const isAlone = values[columns.queue] === 0 && !this.outcomes.has(values[columns.request]!)
    return kind === leasedKind && row.text(columns.detail) !== "driver" && isAlone
  }

  #add(event: PoolEvent): void {
    // Usual events change no managed bytes: the ledger is spared other hits too.
    if (event._tag !== "Leased" || event.from === "driver") this.#ledger.take(event)
    if ("request" in event) this.#ofRequest(event)
  }

  /** What became of a request. */
  outcomeOf(request: number): Outcome {
    return this.outcomes.get(request) ?? servedAtOnce
  }

  #ofRequest(event: Extract<PoolEvent, OfRequest>): void {
    const outcome = this.#outcomeOf(event)
    this.#addOfRequest(event, this.memory(event.memoryNumber), outcome)
    outcome.last = this.#at
  }

  #outcomeOf({ family, request, size }: OfRequest): Outcome {
    const known = this.outcomes.get(request)
    if (known !== undefined) return known
    const outcome = new Outcome(this.#at, family === "", size)
    this.outcomes.set(request, outcome)
    return outcome
  }

  #addOfRequest(event: Extract<PoolEvent, OfRequest>, memory: MemoryTrace, outcome: Outcome): void {
    if (event.queue !== undefined) memory.queues.add(event.queue)
    switch (event._tag) {
      case "DriverAsked":
        outcome.isReservation = false
        outcome.calls ??= []
        outcome.calls.push({ askedAt: event.at, answeredAt: Infinity, why: undefined })
        return
      case "Leased":
        outcome.isReservation = false
        outcome.leasedAt = event.at
        outcome.wasServed = true
        if (event.from === "driver") this.#answered(event, outcome, undefined)
        return
      case "Kept":
        return this.#answered(event, outcome, undefined)
      case "Refused":
        if (event.why === "OutOfMemory") {
          const { managedBytes } = this.#ledger.bytesOf(event.memoryNumber)
          memory.refusedAt = Math.min(memory.refusedAt, managedBytes + event.capacity)
        }
        return this.#answered(event, outcome, event.why)
      case "HandlersAsked":
        outcome.lastHandlers = this.#at
        memory.firstHandlers = Math.min(memory.firstHandlers, outcome.first)
        memory.lastHandlers = this.#at
        return
      case "Reserved":
        outcome.hasReserved = true
        outcome.leasedAt = event.at
        outcome.wasServed = true
    }
  }

  #answered(
    { at }: PoolEvent,
    outcome: Outcome,
    why: string | undefined
  ): void {
    const call = outcome.calls?.[outcome.answers]
    if (call === undefined) return
    outcome.answers++
    call.answeredAt = at
    call.why = why
  }
}
