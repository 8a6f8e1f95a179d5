/**
 * Which parts of one device allocation are mapped now, and what may be done meanwhile. The rules are OpenCL's, which
 * leaves undefined what a command does to memory that is mapped for writing, and what writes to memory that is mapped for
 * reading.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#accessing-mapped-regions
 * @internal
 */

/** @internal */
export interface MappedPart {
  /** Whether the program may write there. */
  readonly writes: boolean
}

/**
 * A part that is about to be mapped.
 *
 * @internal
 */
export interface Claim {
  /** Whether it cannot be: it shares memory with one that is mapped, and one of the two writes. */
  readonly conflicts: boolean
  readonly add: () => void
  readonly remove: () => void
}

/** @internal */
export type MappedState = "unmapped" | "reading" | "writing"

/** @internal */
export class MappedParts<P extends MappedPart> {
  readonly #meet: (one: P, other: P) => boolean
  readonly #parts = new Set<P>()
  #writing = 0

  /** `meet` tells whether two parts share any memory. */
  constructor(meet: (one: P, other: P) => boolean) {
    this.#meet = meet
  }

  /** What of it is mapped: for reading alone, or for writing too. */
  get state(): MappedState {
    return this.#writing > 0 ? "writing" : this.#parts.size > 0 ? "reading" : "unmapped"
  }

  /** A part to add, with what stands against it now. */
  claim(part: P): Claim {
    return {
      conflicts: this.conflict(part) !== undefined,
      add: () => this.add(part),
      remove: () => this.remove(part)
    }
  }

  add(part: P): void {
    this.#parts.add(part)
    if (part.writes) this.#writing += 1
  }

  remove(part: P): void {
    if (this.#parts.delete(part) && part.writes) this.#writing -= 1
  }

  /** A part with which this one cannot be mapped at the same time: they share memory, and one of them writes. */
  conflict(part: P): P | undefined {
    for (const mapped of this.#parts) {
      if ((part.writes || mapped.writes) && this.#meet(part, mapped)) return mapped
    }
    return undefined
  }
}
