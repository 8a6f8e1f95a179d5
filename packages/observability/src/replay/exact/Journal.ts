/**
 * The rows of a recording, events and inputs of the machine, with which a replay is compared.
 *
 * @internal
 */
import { EventReader } from "../../recording/EventChunk.ts"
import type { EventRow } from "../../recording/EventRow.ts"
import { columns, type Field, isInput, kinds, placeOf } from "../../recording/EventShape.ts"
import type { Finding } from "../../recording/Inputs.ts"
import type { Recording } from "../../recording/Recording.ts"

const inputKind = placeOf("Input")!

/** What {@link demand} throws. */
export const difference = new Error("the replay differs from its recording")

/** Throws unless the condition holds: then the replay differs from its recording. */
export function demand(holds: boolean): asserts holds {
  if (!holds) throw difference
}

/** What is there; throws for undefined. */
export const known = <A>(one: A | undefined): A => {
  demand(one !== undefined)
  return one
}

export class Journal {
  readonly #reader: EventReader
  readonly #length: number
  #hasNext: boolean
  /** From blocks of the recording to those of the replay, and back. */
  readonly #blocks = new Map<number, number>()
  readonly #recordedBlocks = new Map<number, number>()
  /** How many events were replayed. */
  passed = 0

  constructor(recording: Recording, withInputs: boolean) {
    this.#reader = new EventReader(recording, withInputs)
    this.#length = recording.length
    this.#hasNext = this.#reader.next()
  }

  /** The next row; undefined after the last one. */
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

  /** Compares the next event of the replay with the next one of the recording, and passes that if they are alike. */
  take(event: EventRow): boolean {
    const { row } = this
    const isLike = row !== undefined && this.#isLike(event, row)
    if (isLike) this.pass()
    return isLike
  }

  /** Whether the next row is this finding of a memory's machine. */
  findsNext(memory: number, what: Finding): boolean {
    const { row } = this
    return row?.kind === inputKind && row.memory === memory && row.text(columns.detail) === what
  }

  /** The value of the next row, which must be this finding. */
  find(memory: number, what: Finding): number {
    demand(this.findsNext(memory, what))
    const value = this.#reader.row.values[columns.capacity]!
    this.pass()
    return value
  }

  /** The same, of a finding with two values. */
  findPlace(memory: number, what: Finding): readonly [value: number, value2: number] {
    demand(this.findsNext(memory, what))
    const value2 = this.#reader.row.values[columns.size]!
    return [this.find(memory, what), value2]
  }

  /** The block of the replay for one of the recording. */
  blockOf(recorded: number): number | undefined {
    return this.#blocks.get(recorded)
  }

  /** Pairs a block of the replay with a block of the recording. */
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

/** How many events are as in the recording before the first that differs; undefined where none does. */
export const differsAt = (recording: Recording, replayed: Recording): number | undefined => {
  const journal = new Journal(recording, false)
  for (const reader = new EventReader(replayed); reader.next();) if (!journal.take(reader.row)) return journal.passed
  return journal.isAtEnd ? undefined : journal.passed
}
