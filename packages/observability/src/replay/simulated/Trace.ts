/**
 * What a recording says about each request, collected before the replay.
 *
 * @internal
 */
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import { BlockLedger } from "../../recording/BlockLedger.ts"
import { EventReader } from "../../recording/EventChunk.ts"
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

/** The recorded outcome of one request. */
export class Outcome {
  /** The bytes that it asks for. */
  readonly size: number
  /** The index of its first event. */
  readonly first: number
  /** Whether it asks for a reservation or an exclusive section. */
  isReservation: boolean
  hasReserved = false
  /** When its lease or its reservation began; undefined when it had none, or began at once. */
  leasedAt: number | undefined = undefined
  wasServed = false
  calls: Array<RecordedCall> | undefined = undefined
  /** How many of the calls have an answer: they are answered in order. */
  answers = 0
  /** The index of its last `HandlersAsked`. */
  lastHandlers = -1
  /** The index of its last event so far. */
  last = -1

  /** Whether it asks for an exclusive section. */
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
  /** The index of its last event. */
  last = -1
  /** The index at which the first request that asks handlers begins, and that of the last `HandlersAsked`; -1 for none. */
  firstHandlers = Infinity
  lastHandlers = -1
  readonly queues = new Set<string>()
  /** The least managed bytes that the driver refused, those of the refused block included. */
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
  /** The outcomes of all requests but those that were served at once. */
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

  /** Whether an event is a hit or the end of a lease: most are, and a replay needs nothing of them in advance. */
  #isUsual(row: EventRow): boolean {
    const { kind, values } = row
    if (kind === releasedKind) return true
    // Where events name queues, a replay has to know which block the request got.
    const isAlone = values[columns.queue] === 0 && !this.outcomes.has(values[columns.request]!)
    return kind === leasedKind && row.text(columns.detail) !== "driver" && isAlone
  }

  #add(event: PoolEvent): void {
    // Hits change no managed bytes, so the ledger does not need them.
    if (event._tag !== "Leased" || event.from === "driver") this.#ledger.take(event)
    if ("request" in event) this.#ofRequest(event)
  }

  /** The outcome of a request. */
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
