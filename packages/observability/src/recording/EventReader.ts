/**
 * Reads the events of chunks, from the first to the last.
 *
 * @internal
 */
import {
  again,
  bitsOfHow,
  bitsOfKind,
  bitsOfWhy,
  columnsOf,
  ended,
  type EventChunk,
  firstWhy,
  hasRequest,
  inWord,
  requestIs,
  timeIs
} from "./EventChunk.ts"
import { EventRow } from "./EventRow.ts"
import { columns, isInput, placeOf } from "./EventShape.ts"

const released = placeOf("Released")!

/** Events in chunks. */
export interface Events {
  readonly chunks: ReadonlyArray<EventChunk>
  readonly length: number
}

const maskOf = (bits: number): number => (1 << bits) - 1

const float = new Float64Array(1)
const floatWords = new Int32Array(float.buffer)

const floatAt = (words: Int32Array, at: number): number => {
  floatWords[0] = words[at]!
  floatWords[1] = words[at + 1]!
  return float[0]!
}

/** Reads a row with columns. Returns the index of the next one. */
const readColumns = (words: Int32Array, place: number, row: EventRow): number => {
  const first = words[place]!
  row.kind = first & maskOf(bitsOfKind)
  row.memory = first >>> bitsOfKind
  const { values } = row
  const all = columnsOf[row.kind]!
  const how = words[place + 1]!
  let at = place + 2
  for (let index = 0; index < all.length; index++) {
    const here = how >>> index * bitsOfHow & maskOf(bitsOfHow)
    values[all[index]!] = here === 0 ? 0 : here === inWord ? words[at]! >>> 0 : floatAt(words, at)
    at += here
  }
  return at
}

export class EventReader {
  /** The event that was read last: always the same row. */
  readonly row = new EventRow()
  readonly #chunks: Iterator<EventChunk>
  /** Whether it reads the inputs of the machine too. */
  readonly #withInputs: boolean
  #words: Int32Array = new Int32Array()
  #place = 0
  /** The end of the chunk's rows. */
  #end = 0
  /** How many events are left, of all and of the chunk. */
  #left: number
  #leftOfChunk = 0
  /** The time, as the rows so far say. */
  #time = 0
  #request = 0

  constructor({ chunks, length }: Events, withInputs: boolean = false) {
    this.#chunks = chunks[Symbol.iterator]()
    this.#left = length
    this.#withInputs = withInputs
  }

  /** Reads the next event, or the next input if inputs are read too. False at the end. */
  next(): boolean {
    while (this.#left > 0) {
      if (this.#leftOfChunk === 0 && (!this.#withInputs || this.#place === this.#end)) this.#open()
      else if (this.#read()) {
        this.row.at = this.#time
        if (isInput(this.row.kind)) return true
        this.#left--
        this.#leftOfChunk--
        return true
      }
    }
    return false
  }

  #open(): void {
    const { length, texts, used, words } = this.#chunks.next().value as EventChunk
    this.row.texts = texts
    this.#end = used
    this.#words = words
    this.#leftOfChunk = length
    this.#place = 0
    this.#request = 0
  }

  /** Reads a row. False if the row is not to be returned. */
  #read(): boolean {
    const { row } = this
    const words = this.#words
    const place = this.#place
    const first = words[place]!
    this.#place++
    switch (first & maskOf(bitsOfKind)) {
      case again:
        readColumns(words, first >>> bitsOfKind, row)
        row.values[columns.request] = ++this.#request
        return true
      case ended: {
        const about = first >>> bitsOfKind
        readColumns(words, about >>> bitsOfWhy, row)
        row.kind = released
        row.values[columns.detail] = (about & maskOf(bitsOfWhy)) + firstWhy
        return true
      }
      case timeIs:
        this.#time = floatAt(words, place + 1)
        this.#place += 2
        return false
      case requestIs:
        this.#request = floatAt(words, place + 1)
        this.#place += 2
        return false
      default:
        this.#place = readColumns(words, place, row)
        if (isInput(row.kind)) return this.#withInputs
        if (hasRequest[row.kind] === true) this.#request = row.values[columns.request]!
        return true
    }
  }
}
