/**
 * What a recording has, row by row: the events, and the inputs of the machine. It tells whether what a replay does is the same.
 *
 * @internal
 */
import { EventReader } from "../../recording/EventReader.ts"
import type { EventRow } from "../../recording/EventRow.ts"
import { columns, type Field, isInput, kinds, placeOf } from "../../recording/EventShape.ts"
import type { Finding } from "../../recording/Inputs.ts"
import type { Recording } from "../../recording/Recording.ts"

const inputKind = placeOf("Input")!

/** The replay does something else than its recording has. */
export class Difference extends Error {
  override readonly name = "Difference"
}

/** What must be so, if the replay does what the recording has. */
export function demand(holds: boolean): asserts holds {
  if (!holds) throw new Difference()
}

/** What must be there. */
export const known = <A>(one: A | undefined): A => {
  demand(one !== undefined)
  return one
}

export class Journal {
  readonly #reader: EventReader
  readonly #length: number
  #hasNext: boolean
  /** The blocks of the replay for those of the recording, and the other way round. */
  readonly #blocks = new Map<number, number>()
  readonly #recordedBlocks = new Map<number, number>()
  /** How many events have passed. */
  passed = 0

  constructor(recording: Recording, withInputs: boolean) {
    this.#reader = new EventReader(recording, withInputs)
    this.#length = recording.length
    this.#hasNext = this.#reader.next()
  }

  /** The next row; undefined behind the last one, and then no event is left. */
  get row(): EventRow | undefined {
    return this.#hasNext ? this.#reader.row : undefined
  }

  get isAtEnd(): boolean {
    return this.passed === this.#length
  }

  pass(): void {
    if (!isInput(this.#reader.row.kind)) this.passed++
    this.#hasNext = this.#reader.next()
  }

  /** Takes the next event of the replay. False if it is not the next one of the recording, which has passed else. */
  take(event: EventRow): boolean {
    const { row } = this
    const isLike = row !== undefined && this.#isLike(event, row)
    if (isLike) this.pass()
    return isLike
  }

  /** Whether the machine of a memory finds this next. */
  findsNext(memory: number, what: Finding): boolean {
    const { row } = this
    return row?.kind === inputKind && row.memory === memory && row.text(columns.detail) === what
  }

  /** What it finds, which must be this. */
  find(memory: number, what: Finding): number {
    demand(this.findsNext(memory, what))
    const value = this.#reader.row.values[columns.capacity]!
    this.pass()
    return value
  }

  /** The block of the replay for one of the recording. */
  blockOf(recorded: number): number | undefined {
    return this.#blocks.get(recorded)
  }

  /** A block of the replay is one that the recording knows from before its first event. */
  restored(own: number, recorded: number): void {
    this.#blocks.set(recorded, own)
    this.#recordedBlocks.set(own, recorded)
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
    if (!this.#blocks.has(other) && !this.#recordedBlocks.has(one)) this.restored(one, other)
    return this.#blocks.get(other) === one
  }
}

/** How many events are as in the recording before one that is not; undefined where all are. */
export const differsAt = (recording: Recording, replayed: Recording): number | undefined => {
  const journal = new Journal(recording, false)
  for (const reader = new EventReader(replayed); reader.next();) if (!journal.take(reader.row)) return journal.passed
  return journal.isAtEnd ? undefined : journal.passed
}
