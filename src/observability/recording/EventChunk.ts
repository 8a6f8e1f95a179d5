/**
 * Many events in little memory: a column for each thing that they say, numbers in typed arrays, and each text once. A full
 * chunk never changes, so that snapshots share it.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import {
  type Field,
  kinds,
  type NumberColumn,
  numberColumns,
  placeOf,
  type TextColumn,
  textColumns
} from "./EventShape.ts"

/** Texts, each once. Place 0 is for none. */
export class Texts {
  readonly all: Array<string | undefined> = [undefined]
  readonly #places = new Map<string, number>()

  placeOf(text: string | undefined): number {
    if (text === undefined) return 0
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#places.set(text, this.all.length)
    return this.all.push(text) - 1
  }
}

/** A column of texts. Mostly the same text comes again, or one of very few. */
export class TextPlaces {
  readonly places: Uint32Array
  readonly #texts: Texts
  #last: string | undefined = undefined
  #lastPlace = 0

  constructor(texts: Texts, places: Uint32Array) {
    this.#texts = texts
    this.places = places
  }

  set(at: number, text: string | undefined): void {
    if (text !== this.#last) {
      this.#last = text
      this.#lastPlace = this.#texts.placeOf(text)
    }
    this.places[at] = this.#lastPlace
  }
}

type Columns =
  & { readonly [C in NumberColumn]: Float64Array | Uint32Array }
  & { readonly [C in TextColumn]: TextPlaces }

/** Numbers of memories and budgets count few things; NaN is 0 there. */
const isSmall = (column: NumberColumn): boolean => column === "memory" || column === "budgetNumber"

const columnsOf = (capacity: number, texts: Texts): Columns =>
  Object.fromEntries([
    ...numberColumns.map((name) => [name, isSmall(name) ? new Uint32Array(capacity) : new Float64Array(capacity)]),
    ...textColumns.map((name) => [name, new TextPlaces(texts, new Uint32Array(capacity))])
  ]) as Columns

/** Bytes of one event, without its texts. */
export const bytesPerEvent = 1 + numberColumns.reduce((sum, name) => sum + (isSmall(name) ? 4 : 8), 0) +
  4 * textColumns.length

/** What events say of memories that have no name of their own in them. */
export interface MemoryNames {
  readonly label: string | undefined
  readonly device: string
}

export class EventChunk {
  readonly capacity: number
  length = 0
  readonly kind: Uint8Array
  readonly texts: Texts
  readonly columns: Columns

  constructor(capacity: number) {
    this.capacity = capacity
    this.kind = new Uint8Array(capacity)
    this.texts = new Texts()
    this.columns = columnsOf(capacity, this.texts)
  }

  /** Adds an event. The chunk must have room. */
  add(event: PoolEvent): void {
    const at = this.length++
    const kind = placeOf(event._tag)!
    this.kind[at] = kind
    this.columns.at[at] = event.at
    this.columns.memory[at] = event.memoryNumber
    const values = event as unknown as Record<string, unknown>
    for (const field of kinds[kind]!.fields) this.#set(at, field, values[field.name])
  }

  #set(at: number, { as, column, isText }: Field, value: unknown): void {
    if (isText) {
      const text = as === "list" ? (value as ReadonlyArray<string>).join(",") : value as string | undefined
      this.columns[column as TextColumn].set(at, text)
      return
    }
    const column_ = this.columns[column as NumberColumn]
    column_[at] = value === undefined ? Number.NaN : Number(value)
  }

  /** The event at a place. Its memory is named by a list of names, by number. */
  at(at: number, names: ReadonlyMap<number, MemoryNames>): PoolEvent {
    const { fields, tag } = kinds[this.kind[at]!]!
    const memoryNumber = this.columns.memory[at]!
    const name = names.get(memoryNumber)
    const event: Record<string, unknown> = {
      _tag: tag,
      at: this.columns.at[at],
      memory: name?.label,
      memoryNumber,
      device: name?.device ?? ""
    }
    for (const field of fields) event[field.name] = this.value(at, field)
    return event as unknown as PoolEvent
  }

  /** What the event at a place says. */
  value(at: number, { as, column, isText }: Field): unknown {
    if (isText) {
      const text = this.texts.all[this.columns[column as TextColumn].places[at]!]
      return as === "list" ? (text === undefined || text === "" ? [] : text.split(",")) : text
    }
    const value = this.columns[column as NumberColumn][at]!
    if (as === "yes or no") return value === 1
    return Number.isNaN(value) || (column === "budgetNumber" && value === 0) ? undefined : value
  }
}
