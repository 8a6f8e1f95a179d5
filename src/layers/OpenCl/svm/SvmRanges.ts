/**
 * Which bytes of shared virtual memory the driver has mapped. OpenCL does not count mappings by address as it does those
 * of a cl_mem, and NVIDIA's driver refuses to unmap what a second mapping of the same address has left unmapped already. So
 * the driver maps no byte twice, however many mappings of programs overlap.
 *
 * @internal
 */

/** Bytes that the driver maps by one command, from the first address to before the last. */
export class SvmRange {
  readonly start: bigint
  readonly end: bigint
  /** Mappings of programs that show bytes of it. */
  mappings = 0
  /** With which code the driver failed to map it. */
  failure: number | undefined

  constructor(start: bigint, end: bigint) {
    this.start = start
    this.end = end
  }

  get bytes(): number {
    return Number(this.end - this.start)
  }
}

export class SvmRanges {
  /** In the order of their addresses; none overlaps another one. */
  #mapped: ReadonlyArray<SvmRange> = []

  /** The ranges that a mapping needs, in the order of their addresses. Those with no mappings are not mapped yet. */
  covering(start: bigint, end: bigint): ReadonlyArray<SvmRange> {
    const ranges: Array<SvmRange> = []
    let at = start
    for (const range of this.#mapped) {
      if (range.end <= at || range.start >= end) continue
      if (range.start > at) ranges.push(new SvmRange(at, range.start))
      ranges.push(range)
      at = range.end
    }
    if (at < end) ranges.push(new SvmRange(at, end))
    return ranges
  }

  /** Counts a mapping of these ranges, which `covering` has returned in the same synchronous step. */
  retain(ranges: ReadonlyArray<SvmRange>): void {
    const fresh = ranges.filter((range) => range.mappings === 0)
    for (const range of ranges) range.mappings += 1
    if (fresh.length === 0) return
    this.#mapped = [...this.#mapped, ...fresh].sort((a, b) => a.start < b.start ? -1 : 1)
  }

  /** Counts the mapping out. Returns the ranges that no other mapping shows. */
  release(ranges: ReadonlyArray<SvmRange>): ReadonlyArray<SvmRange> {
    for (const range of ranges) range.mappings -= 1
    const last = ranges.filter((range) => range.mappings === 0)
    this.#mapped = this.#mapped.filter((range) => range.mappings > 0)
    return last
  }
}
