/**
 * Many events in little memory: numbers in typed arrays, each text once. A full chunk never changes, so that snapshots share it.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { type Field, kinds, numberColumns, placeOf, wordColumns } from "./EventShape.ts"
import type { RecordedBudget, RecordedFamily, RecordedMemory } from "./RecordingFacts.ts"

/** What must be known of a request's family, for each of its sizes, to serve the request again. */
export interface FamilyNote {
  readonly facts: Omit<RecordedFamily, "sizes">
  readonly sizes: Map<number, RecordedFamily["sizes"][number]>
}

/** What events say of memories that have no name of their own in them. */
export interface MemoryNames {
  readonly label?: string | undefined
  readonly device: string
}

/** Texts that hits and the ends of leases say: they have the same places everywhere, so that nobody looks for them. */
const fixed = ["held", "borrowed", "driver", "scopeClosed", "released", "poolClosed", "parentReleased"] as const

/** The places of {@link fixed}. */
export const fixedPlaces = Object.fromEntries(fixed.map((text, at) => [text, at + 1])) as {
  readonly [T in typeof fixed[number]]: number
}

/** Texts, each once. Place 0 is for none. */
export class Texts {
  readonly all: Array<string | undefined> = [undefined, ...fixed]
  readonly #places = new Map<string, number>(Object.entries(fixedPlaces))

  placeOf(text: string | undefined): number {
    if (text === undefined) return 0
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#places.set(text, this.all.length)
    return this.all.push(text) - 1
  }

  copy(): Texts {
    const copy = new Texts()
    copy.read(this.all.slice(1) as ReadonlyArray<string>)
    return copy
  }

  /** From now on it has these, at these places. */
  read(texts: ReadonlyArray<string>): void {
    this.all.length = 1
    this.#places.clear()
    for (const text of texts) this.#places.set(text, this.all.push(text) - 1)
  }
}

/** Numbers of one event. */
export const numbersPerEvent = numberColumns.length
/** 32-bit words of one event. */
export const wordsPerEvent = wordColumns.length

/** Bytes of one event, without its texts. */
export const bytesPerEvent = 8 * numbersPerEvent + 4 * wordsPerEvent

/** The kind of an event and the number of its memory share a word. */
export const bitsOfKind = 5

/** As many as a word of an event has room for. */
export const isMemory = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** (32 - bitsOfKind)

let fillings = 0

export class EventChunk {
  readonly capacity: number
  /** Grows with each time that it is filled anew, and is no other chunk's. */
  filling = ++fillings
  length = 0
  /** The numbers of an event follow each other, so that it is written to one place in memory. */
  readonly numbers: Float64Array
  readonly words: Uint32Array
  texts = new Texts()
  /** What its events are about, by number; families by memory and name. */
  readonly memories = new Map<number, RecordedMemory>()
  readonly budgets = new Map<number, RecordedBudget>()
  readonly families = new Map<string, FamilyNote>()

  constructor(capacity: number) {
    this.capacity = capacity
    this.numbers = new Float64Array(capacity * numbersPerEvent)
    this.words = new Uint32Array(capacity * wordsPerEvent)
  }

  /** Adds an event. The chunk must have room. */
  add(event: PoolEvent): void {
    const at = this.length++
    const kind = placeOf(event._tag)!
    this.begin(at, kind, event.memoryNumber, event.at)
    const values = event as unknown as Record<string, unknown>
    for (const field of kinds[kind]!.fields) this.set(at, field, values[field.name])
  }

  /** Sets what every event says. */
  begin(at: number, kind: number, memory: number, time: number): void {
    this.words[at * wordsPerEvent] = kind | memory << bitsOfKind
    this.numbers[at * numbersPerEvent] = time
  }

  /** Sets one member of the event at a place. */
  set(at: number, { as, column, type }: Field, value: unknown): void {
    if (type === "number") this.numbers[at * numbersPerEvent + column] = Number(value ?? 0)
    else if (type === "word") this.words[at * wordsPerEvent + column] = Number(value ?? 0)
    else {
      const text = as === "list" ? (value as ReadonlyArray<string>).join(",") : value as string | undefined
      this.words[at * wordsPerEvent + column] = this.texts.placeOf(text)
    }
  }

  /** The place of an event's kind among all kinds. */
  kind(at: number): number {
    return this.words[at * wordsPerEvent]! & (1 << bitsOfKind) - 1
  }

  /** The number of an event's memory. */
  memory(at: number): number {
    return this.words[at * wordsPerEvent]! >>> bitsOfKind
  }

  number(at: number, column: number): number {
    return this.numbers[at * numbersPerEvent + column]!
  }

  word(at: number, column: number): number {
    return this.words[at * wordsPerEvent + column]!
  }

  text(at: number, column: number): string | undefined {
    return this.texts.all[this.words[at * wordsPerEvent + column]!]
  }

  /** The event at a place. Its memory is named by a list of names, by number. */
  at(at: number, names: ReadonlyMap<number, MemoryNames>): PoolEvent {
    const { fields, tag } = kinds[this.kind(at)]!
    const memoryNumber = this.memory(at)
    const name = names.get(memoryNumber)
    const event: Record<string, unknown> = {
      _tag: tag,
      at: this.number(at, 0),
      memory: name?.label,
      memoryNumber,
      device: name?.device ?? ""
    }
    for (const field of fields) event[field.name] = this.value(at, field)
    return event as unknown as PoolEvent
  }

  /** What the event at a place says. */
  value(at: number, { as, column, isOptional, type }: Field): unknown {
    if (type === "text") {
      const text = this.text(at, column)
      return as === "list" ? (text === undefined || text === "" ? [] : text.split(",")) : text
    }
    const value = type === "word" ? this.word(at, column) : this.number(at, column)
    if (as === "yes or no") return value === 1
    return isOptional && value === 0 ? undefined : value
  }

  /** Makes room for other events, each of which writes all that its kind says. */
  clear(): void {
    this.filling = ++fillings
    this.length = 0
    this.texts = new Texts()
    for (const notes of [this.memories, this.budgets, this.families]) notes.clear()
  }

  /** One with the same events, which stays as it is. */
  copy(): EventChunk {
    const copy = new EventChunk(this.length)
    copy.length = this.length
    copy.numbers.set(this.numbers.subarray(0, copy.numbers.length))
    copy.words.set(this.words.subarray(0, copy.words.length))
    copy.texts = this.texts.copy()
    for (const [number, memory] of this.memories) copy.memories.set(number, memory)
    for (const [number, budget] of this.budgets) copy.budgets.set(number, budget)
    for (const [name, { facts, sizes }] of this.families) copy.families.set(name, { facts, sizes: new Map(sizes) })
    return copy
  }
}
