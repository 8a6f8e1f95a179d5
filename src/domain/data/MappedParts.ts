/**
 * Which parts of a buffer's memory or of an image are mapped now, and what may be done meanwhile. The rules are OpenCL's,
 * which leaves undefined what a command does to memory that is mapped for writing, and what writes to memory that is
 * mapped for reading.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#accessing-mapped-regions
 * @internal
 */

/** Bytes from one on, along one axis, or elements of an image along three: one at least along each. */
export interface MappedPart {
  readonly origin: ReadonlyArray<number>
  readonly extent: ReadonlyArray<number>
  /** Whether the program may write there. */
  readonly writes: boolean
}

/** A range or region that is about to be mapped. */
export interface Claim {
  /** Whether it cannot be mapped: it shares memory with a mapping, and one of the two writes. */
  readonly conflicts: boolean
  readonly add: () => void
  readonly remove: () => void
}

export class MappedParts {
  readonly #parts = new Set<MappedPart>()
  #writing = 0

  /** Whether it is mapped only for reading, or for writing too. */
  get state(): "unmapped" | "reading" | "writing" {
    return this.#writing > 0 ? "writing" : this.#parts.size > 0 ? "reading" : "unmapped"
  }

  /** A range or region to add, and the mapping that forbids it, if any. */
  claim(part: MappedPart): Claim {
    return {
      conflicts: [...this.#parts].some((mapped) => (part.writes || mapped.writes) && meet(part, mapped)),
      add: () => {
        this.#parts.add(part)
        if (part.writes) this.#writing += 1
      },
      remove: () => {
        if (this.#parts.delete(part) && part.writes) this.#writing -= 1
      }
    }
  }
}

const meet = (one: MappedPart, other: MappedPart): boolean =>
  one.extent.every((length, axis) =>
    one.origin[axis]! < other.origin[axis]! + other.extent[axis]! && other.origin[axis]! < one.origin[axis]! + length
  )
