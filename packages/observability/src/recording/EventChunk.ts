/**
 * Many events in little memory: rows of 32-bit words, and each text once. Rows are only added, so that snapshots share them.
 *
 * The first word of a row has its kind, and the number of the event's memory. The second one says for each column whether it is 0, a
 * word that follows, or a floating-point number in two. Most events are hits and the ends of leases: where an earlier hit of the same
 * block says the same, such an event is one word, the index of that hit. Times, and the numbers of requests that are not one more than
 * the last, are rows before those that they apply to. `EventReader` reads them.
 *
 * @internal
 */
import type { EventRow } from "./EventRow.ts"
import { columns, isInput, kinds } from "./EventShape.ts"
import type { RecordedBudget, RecordedFamily, RecordedMemory } from "./RecordingFacts.ts"
import { fixedPlaces, Texts } from "./Texts.ts"

/** What a replay needs to know of a family to serve its requests again. */
export interface FamilyNote extends Omit<RecordedFamily, "sizes"> {
  /** Four numbers for each size, as facts have them, in one list, which takes little memory. A size may occur several times. */
  readonly sizes: Array<number>
}

/** The kind of a row shares a word with another number, mostly that of a memory. */
export const bitsOfKind = 5

/** The kinds of special rows. Those of events are smaller. */
export const again = 31
export const ended = 30
export const timeIs = 29
export const requestIs = 28

/** The reason why a lease ended shares a word with an index: as an index among the texts, counted from `scopeClosed`. */
export const bitsOfWhy = 2
export const firstWhy = fixedPlaces.scopeClosed

/** The columns of each kind of row. */
export const columnsOf = kinds.map(({ fields }) => fields.map(({ column }) => column))

/** Whether events of a kind have the number of a request. */
export const hasRequest = kinds.map(({ fields }, kind) =>
  !isInput(kind) && fields.some(({ column }) => column === columns.request)
)

/** How a row stores a column. */
export const inWord = 1
const inFloat = 2
export const bitsOfHow = 2

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
