/**
 * Whether a replay tells what the recording tells, event by event.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"
import { events, type Recording } from "../recording/Recording.ts"

export class Likeness {
  readonly #recorded: Iterator<PoolEvent, void>
  /** The blocks of the replay for those of the recording, and the other way round. */
  readonly #blocks = new Map<number, number>()
  readonly #recordedBlocks = new Map<number, number>()
  readonly #length: number
  #told = 0
  #differsAt: number | undefined = undefined

  constructor(recording: Recording) {
    this.#recorded = events(recording)
    this.#length = recording.length
  }

  /** The next event of the replay. */
  take(event: PoolEvent): void {
    if (this.#differsAt !== undefined) return
    const { value } = this.#recorded.next()
    if (value === undefined || !this.#isLike(event, value)) this.#differsAt = this.#told
    this.#told++
  }

  /** How many events are as recorded before one that is not; undefined where all are. */
  get differsAt(): number | undefined {
    return this.#differsAt ?? (this.#told < this.#length ? this.#told : undefined)
  }

  #isLike(event: PoolEvent, recorded: PoolEvent): boolean {
    const one = event as unknown as Record<string, unknown>
    const other = recorded as unknown as Record<string, unknown>
    for (const member in one) if (!this.#isSame(member, one[member], other[member])) return false
    for (const member in other) if (other[member] !== undefined && one[member] === undefined) return false
    return true
  }

  #isSame(member: string, one: unknown, other: unknown): boolean {
    if (member === "block") return this.#isSameBlock(Number(one), Number(other))
    // What a request tried, in order.
    if (Array.isArray(one) && Array.isArray(other)) return one.join() === other.join()
    return Object.is(one, other)
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
