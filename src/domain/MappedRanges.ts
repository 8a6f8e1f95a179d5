/**
 * Which bytes of one device allocation are mapped now, and what may be done meanwhile. The rules are OpenCL's, which
 * leaves undefined what a command does to memory that is mapped for writing, and what writes to memory that is mapped for
 * reading.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#accessing-mapped-regions
 * @internal
 */

/** @internal */
export interface MappedRange {
  readonly from: number
  readonly to: number
  /** Whether the program may write there. */
  readonly writes: boolean
}

/** @internal */
export class MappedRanges {
  readonly #ranges = new Set<MappedRange>()
  #writing = 0

  /** What of it is mapped: for reading alone, or for writing too. */
  get state(): "unmapped" | "reading" | "writing" {
    return this.#writing > 0 ? "writing" : this.#ranges.size > 0 ? "reading" : "unmapped"
  }

  add(range: MappedRange): void {
    this.#ranges.add(range)
    if (range.writes) this.#writing += 1
  }

  remove(range: MappedRange): void {
    if (this.#ranges.delete(range) && range.writes) this.#writing -= 1
  }

  /** A range with which this one cannot be mapped at the same time: they overlap, and one of them writes. */
  conflict({ from, to, writes }: MappedRange): MappedRange | undefined {
    for (const range of this.#ranges) {
      if (from < range.to && range.from < to && (writes || range.writes)) return range
    }
    return undefined
  }
}
