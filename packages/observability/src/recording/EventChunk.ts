/**
 * Many events in little memory: rows of 32-bit words, and each text once. Rows are only added, so that snapshots share them.
 *
 * The first word of a row has its kind, and the number of the event's memory. The second one says for each column whether it is 0, a
 * word that follows, or a floating-point number in two. Most events are hits and the ends of leases: where an earlier hit of the same
 * block says the same, such an event is one word, the index of that hit. Times, and the numbers of requests that are not one more than
 * the last, are rows before those that they apply to.
 *
 * @internal
 */
import { EventRow } from "./EventRow.ts"
import { columns, isInput, kinds, placeOf } from "./EventShape.ts"
import type { RecordedBudget, RecordedFamily, RecordedMemory } from "./RecordingFacts.ts"
import { fixedPlaces, Texts } from "./Texts.ts"

/** What a replay needs to know of a family to serve its requests again. */
export interface FamilyNote extends Omit<RecordedFamily, "sizes"> {
  /** Four numbers for each size, as facts have them, in one list, which takes little memory. A size may occur several times. */
  readonly sizes: Array<number>
}

/** The kind of a row shares a word with another number, mostly that of a memory. */
const bitsOfKind = 5

/** The kinds of special rows. Those of events are smaller. */
const again = 31
const ended = 30
const timeIs = 29
const requestIs = 28

/** The reason why a lease ended shares a word with an index: as an index among the texts, counted from `scopeClosed`. */
const bitsOfWhy = 2
const firstWhy = fixedPlaces.scopeClosed

/** The columns of each kind of row. */
const columnsOf = kinds.map(({ fields }) => fields.map(({ column }) => column))

/** Whether events of a kind have the number of a request. */
const hasRequest = kinds.map(({ fields }, kind) =>
  !isInput(kind) && fields.some(({ column }) => column === columns.request)
)

/** How a row stores a column. */
const inWord = 1
const inFloat = 2
const bitsOfHow = 2

/** More than the longest row, with those before it for its time and its request. */
const mostWords = 64

/** An event of a request, with the inputs before it, mostly takes fewer words. */
const mostWordsOfEvent = 64

const float = new Float64Array(1)
const floatWords = new Int32Array(float.buffer)

let fillings = 0

export class EventChunk {
  /** A number that is unique among all fillings of all chunks. */
  filling = ++fillings
  /** How many events it has. */
  length = 0
  texts = new Texts()
  /** What its events are about, by number; families by `keyOfFamily`. */
  readonly memories = new Map<number, RecordedMemory>()
  readonly budgets = new Map<number, RecordedBudget>()
  readonly families = new Map<string, FamilyNote>()
  words: Int32Array
  #roomy: number
  #used = 0
  /** The time, as its rows so far say. */
  #time = Number.NaN
  #request = 0

  constructor(words: number) {
    this.words = new Int32Array(Math.max(words, mostWords))
    this.#roomy = this.words.length - mostWords
  }

  /** Whether there is room for one more event. */
  get hasRoom(): boolean {
    return this.#used <= this.#roomy
  }

  /** How many events its words would be: inputs of the machine are no events, and may be very many. */
  get weight(): number {
    return Math.max(this.length, Math.floor(this.#used / mostWordsOfEvent))
  }

  /** How many words its rows have. */
  get used(): number {
    return this.#used
  }

  /** Adds an event, or an input of the machine. Returns the index of its row. */
  add({ at, kind, memory, values }: EventRow): number {
    if (at !== this.#time && (at !== 0 || !isInput(kind))) this.#setTime(at)
    if (isInput(kind)) return this.#write(kind, memory, values)
    if (hasRequest[kind] === true) this.#request = values[columns.request]!
    this.length++
    return this.#write(kind, memory, values)
  }

  /** Adds a hit that says the same as the one at `place`. */
  addAgain(place: number, request: number, time: number): void {
    if (time !== this.#time) this.#setTime(time)
    if (request !== this.#request + 1) this.#writeFloat(requestIs, request - 1)
    this.#request = request
    this.length++
    this.words[this.#used++] = place << bitsOfKind | again
  }

  /** Adds the end of the lease that the row at `place` begins. */
  addEnd(place: number, why: number, time: number): void {
    if (time !== this.#time) this.#setTime(time)
    this.length++
    this.words[this.#used++] = (place << bitsOfWhy | why - firstWhy) << bitsOfKind | ended
  }

  #setTime(time: number): void {
    this.#time = time
    this.#writeFloat(timeIs, time)
  }

  #writeFloat(kind: number, value: number): void {
    float[0] = value
    this.words[this.#used++] = kind
    this.words[this.#used++] = floatWords[0]!
    this.words[this.#used++] = floatWords[1]!
  }

  #write(kind: number, memory: number, values: Float64Array): number {
    const { words } = this
    const place = this.#used
    let how = 0
    let used = place + 2
    const all = columnsOf[kind]!
    for (let index = 0; index < all.length; index++) {
      const value = values[all[index]!]!
      if (value === 0) continue
      if (value >>> 0 === value) {
        how |= inWord << index * bitsOfHow
        words[used++] = value
      } else {
        how |= inFloat << index * bitsOfHow
        float[0] = value
        words[used++] = floatWords[0]!
        words[used++] = floatWords[1]!
      }
    }
    words[place] = memory << bitsOfKind | kind
    words[place + 1] = how
    this.#used = used
    return place
  }

  /** Copies the rows to a smaller array if more than half is unused. Nothing can be added afterwards. */
  trim(): void {
    if (this.#used * 2 < this.words.length) this.words = this.words.slice(0, this.#used)
    this.#roomy = -1
  }

  /** Makes room for other events. */
  clear(): void {
    this.filling = ++fillings
    this.length = 0
    this.texts = new Texts()
    for (const notes of [this.memories, this.budgets, this.families]) notes.clear()
    this.#used = 0
    this.#time = Number.NaN
    this.#request = 0
  }
}

const released = placeOf("Released")!

/** Events in chunks. */
export interface Events {
  readonly chunks: ReadonlyArray<EventChunk>
  readonly length: number
}

const maskOf = (bits: number): number => (1 << bits) - 1

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

/** Reads the events of chunks, from the first to the last. */
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
