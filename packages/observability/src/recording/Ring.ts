/**
 * The last events, in chunks. A full chunk whose events are too old is reused, unless a snapshot has it.
 *
 * @internal
 */
import { EventChunk, type Events } from "./EventChunk.ts"

/** Few enough that the ring is never much larger than its capacity, and enough that chunks repeat little. */
const wordsPerChunk = (capacity: number): number => Math.min(65_536, Math.max(512, Math.ceil(capacity / 2)))

/** What a snapshot has of a ring. */
export interface RingContent extends Events {
  readonly dropped: number
}

export class Ring {
  /** How many events it has at least, once that many have happened: fewer only where each has very many inputs. */
  readonly capacity: number
  readonly #chunks: Array<EventChunk>
  readonly #inSnapshots = new WeakSet<EventChunk>()
  #last: EventChunk
  /** How many events the chunks before the last one have, and how many they count for. */
  #full = 0
  #weight = 0
  #dropped = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.#last = new EventChunk(wordsPerChunk(capacity))
    this.#chunks = [this.#last]
  }

  /** The chunk for the next event. */
  open(): EventChunk {
    return this.#last.hasRoom ? this.#last : this.#next()
  }

  #next(): EventChunk {
    this.#full += this.#last.length
    this.#weight += this.#last.weight
    const unused = this.#drop()
    this.#last = unused ?? new EventChunk(wordsPerChunk(this.capacity))
    this.#chunks.push(this.#last)
    return this.#last
  }

  /** Drops chunks as long as the others have enough events. Returns one that can be reused. */
  #drop(): EventChunk | undefined {
    let unused: EventChunk | undefined
    const isSpare = ({ length, weight }: EventChunk): boolean =>
      this.#full - length >= this.capacity || this.#weight - weight >= this.capacity
    for (let [oldest] = this.#chunks; isSpare(oldest!); oldest = this.#chunks[0]) {
      this.#chunks.shift()
      this.#full -= oldest!.length
      this.#weight -= oldest!.weight
      this.#dropped += oldest!.length
      if (!this.#inSnapshots.has(oldest!)) unused = oldest
    }
    unused?.clear()
    return unused
  }

  /** What it has now. */
  content(): RingContent {
    for (const chunk of this.#chunks) this.#inSnapshots.add(chunk)
    return { chunks: this.#chunks.slice(), length: this.#full + this.#last.length, dropped: this.#dropped }
  }
}
