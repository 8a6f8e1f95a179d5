/**
 * Builds a recording from one event after the other, for those from a file.
 *
 * @internal
 */
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import { EventChunk } from "./EventChunk.ts"
import { EventRow } from "./EventRow.ts"
import { isInput } from "./EventShape.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"
import type { Recording } from "./RecordingModel.ts"
import { Texts } from "./Texts.ts"

/** In words. The first chunk is small, for recordings of few events; each further one is as large as all before it, up to this. */
const largestChunk = 65_536
const smallestChunk = 1024

export class RecordingBuilder {
  /** The event that {@link addRow} adds. */
  readonly row = new EventRow()
  readonly #chunks: Array<EventChunk> = []
  #last: EventChunk | undefined
  #words = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  add(event: PoolEvent): void {
    this.row.set(event)
    this.addRow()
  }

  addRow(): void {
    const chunk = this.#last?.hasRoom === true ? this.#last : this.#next()
    chunk.add(this.row)
    if (!isInput(this.row.kind)) this.#length++
  }

  /** Sets the texts of the rows that follow. */
  readTexts(texts: ReadonlyArray<string>): void {
    this.row.texts = new Texts()
    this.row.texts.read(texts)
    this.#end()
  }

  #next(): EventChunk {
    this.#end()
    this.#last = new EventChunk(Math.min(largestChunk, Math.max(smallestChunk, this.#words)))
    this.#last.texts = this.row.texts
    this.#chunks.push(this.#last)
    return this.#last
  }

  #end(): void {
    this.#last?.trim()
    this.#words += this.#last?.words.length ?? 0
    this.#last = undefined
  }

  /** The recording of the events so far. The builder must not be used afterwards. */
  build(facts: RecordingFacts): Recording {
    this.#end()
    return { ...facts, length: this.#length, chunks: this.#chunks }
  }
}
