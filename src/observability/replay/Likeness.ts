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
  /** What the replay is to tell next; undefined once it has told something else. */
  #next: PoolEvent | void
  #told = 0
  #differsAt: number | undefined = undefined

  constructor(recording: Recording) {
    this.#recorded = events(recording)
    this.#next = this.#recorded.next().value
    this.#length = recording.length
  }

  /** The next event of the replay. */
  take(event: PoolEvent): void {
    if (this.#differsAt !== undefined) return
    const isLike = this.#next !== undefined && this.#isLike(event, this.#next)
    if (!isLike) this.#differsAt = this.#told
    this.#next = isLike ? this.#recorded.next().value : undefined
    this.#told++
  }

  /** The time of the next event. A recorder reads the clock also between two events of one step. */
  get nextAt(): number | undefined {
    return this.#next?.at
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
