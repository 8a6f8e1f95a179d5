/**
 * A recording that grows by one event at a time, for what comes from a file.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { EventChunk } from "./EventChunk.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"
import type { Recording } from "./RecordingModel.ts"

/** The first chunk is small, so that a recording of few events is; each further one has as many as all before it, up to this. */
const mostPerChunk = 65_536
const fewestPerChunk = 256

export class RecordingBuilder {
  readonly #chunks: Array<EventChunk> = []
  #last: EventChunk | undefined
  #length = 0

  add(event: PoolEvent): void {
    if (this.#last === undefined || this.#last.length === this.#last.capacity) {
      this.#chunks.push(this.#last = new EventChunk(this.#nextCapacity))
    }
    this.#last.add(event)
    this.#length++
  }

  get #nextCapacity(): number {
    return Math.min(mostPerChunk, Math.max(fewestPerChunk, this.#length))
  }

  /** The recording of the events so far. The builder is not used any more then. */
  build(facts: RecordingFacts): Recording {
    return { ...facts, length: this.#length, chunks: this.#chunks, skipped: 0 }
  }
}
