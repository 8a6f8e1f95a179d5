/**
 * The last events, in chunks. A chunk that is full and whose events are too old is filled again, unless a snapshot has it.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { EventChunk } from "./EventChunk.ts"

/** Few enough that the ring is never much larger than asked for, and many enough that texts are rarely stored again. */
const eventsPerChunk = (capacity: number): number => Math.min(65_536, Math.max(64, Math.ceil(capacity / 8)))

/** What a snapshot has of a ring. */
export interface RingContent {
  readonly chunks: ReadonlyArray<EventChunk>
  /** How many events of the first chunk are beyond the capacity. */
  readonly skipped: number
  readonly length: number
  readonly dropped: number
}

export class Ring {
  /** How many events it has at least, once so many have happened. */
  readonly capacity: number
  readonly #chunkCapacity: number
  readonly #chunks: Array<EventChunk>
  readonly #inSnapshots = new WeakSet<EventChunk>()
  #last: EventChunk
  #added = 0

  constructor(capacity: number) {
    this.capacity = capacity
    this.#chunkCapacity = eventsPerChunk(capacity)
    this.#last = new EventChunk(this.#chunkCapacity)
    this.#chunks = [this.#last]
  }

  /** The chunk that the next event goes to. */
  open(): EventChunk {
    return this.#last.length < this.#chunkCapacity ? this.#last : this.#next()
  }

  readonly add = (event: PoolEvent): void => this.open().add(event)

  #next(): EventChunk {
    this.#added += this.#chunkCapacity
    // Those of the new chunk come to what is there now.
    const isDropped = (this.#chunks.length - 1) * this.#chunkCapacity >= this.capacity
    const oldest = isDropped ? this.#chunks.shift()! : undefined
    if (oldest === undefined || this.#inSnapshots.has(oldest)) this.#last = new EventChunk(this.#chunkCapacity)
    else {
      oldest.clear()
      this.#last = oldest
    }
    this.#chunks.push(this.#last)
    return this.#last
  }

  /** What it has now. */
  content(): RingContent {
    const present = (this.#chunks.length - 1) * this.#chunkCapacity + this.#last.length
    const beyond = Math.max(0, present - this.capacity)
    const skipped = beyond % this.#chunkCapacity
    // Chunks whose events are all beyond the capacity are not part of it.
    const full = this.#chunks.slice((beyond - skipped) / this.#chunkCapacity, -1)
    for (const chunk of full) this.#inSnapshots.add(chunk)
    const length = present - beyond
    const dropped = this.#added + this.#last.length - length
    return { chunks: [...full, this.#last.copy()], skipped, length, dropped }
  }
}
