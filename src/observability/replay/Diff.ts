/**
 * Whether a replay tells what the recording tells, event by event.
 *
 * @internal
 */
import { EventReader } from "../recording/EventReader.ts"
import type { EventRow } from "../recording/EventRow.ts"
import { type Field, kinds } from "../recording/EventShape.ts"
import type { Recording } from "../recording/Recording.ts"

export class Diff {
  readonly #recorded: EventReader
  /** The blocks of the replay for those of the recording, and the other way round. */
  readonly #blocks = new Map<number, number>()
  readonly #recordedBlocks = new Map<number, number>()
  readonly #length: number
  /** Whether the replay is to tell what was read last. Not once it has told something else. */
  #hasNext: boolean
  #told = 0
  #differsAt: number | undefined = undefined

  constructor(recording: Recording) {
    this.#recorded = new EventReader(recording)
    this.#hasNext = this.#recorded.next()
    this.#length = recording.length
  }

  /** The next event of the replay. */
  take(event: EventRow): void {
    if (this.#differsAt !== undefined) return
    const isLike = this.#hasNext && this.#isLike(event, this.#recorded.row)
    if (!isLike) this.#differsAt = this.#told
    this.#hasNext = isLike && this.#recorded.next()
    this.#told++
  }

  /** What the replay is to tell next, as long as it does what was recorded. */
  get next(): EventRow | undefined {
    return this.#hasNext ? this.#recorded.row : undefined
  }

  /** The time of the next event. A recorder reads the clock also between two events of one step. */
  get nextAt(): number | undefined {
    return this.#hasNext ? this.#recorded.row.at : undefined
  }

  /** How many events are as recorded before one that is not; undefined where all are. */
  get differsAt(): number | undefined {
    return this.#differsAt ?? (this.#told < this.#length ? this.#told : undefined)
  }

  #isLike(one: EventRow, other: EventRow): boolean {
    if (one.kind !== other.kind || one.at !== other.at || one.memory !== other.memory) return false
    for (const field of kinds[one.kind]!.fields) if (!this.#isSame(field, one, other)) return false
    return true
  }

  #isSame({ as, column, isText, name }: Field, one: EventRow, other: EventRow): boolean {
    if (name === "block") return this.#isSameBlock(one.values[column]!, other.values[column]!)
    if (!isText) return one.values[column] === other.values[column]
    const [text, recorded] = [one.text(column), other.text(column)]
    return text === recorded || (as === "list" && (text ?? "") === (recorded ?? ""))
  }

  /** Blocks have numbers of their own in a replay. */
  #isSameBlock(one: number, other: number): boolean {
    if (!this.#blocks.has(other) && !this.#recordedBlocks.has(one)) {
      this.#blocks.set(other, one)
      this.#recordedBlocks.set(one, other)
    }
    return this.#blocks.get(other) === one
  }
}
