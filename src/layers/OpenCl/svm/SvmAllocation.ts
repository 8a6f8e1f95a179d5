/**
 * One piece of shared virtual memory.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { Grain } from "./SvmCapabilities.ts"

/**
 * Memory of clSVMAlloc. Neither a cl_mem over it nor a sub-buffer of that keeps it alive, so it is freed after the last
 * buffer over it.
 */
export class SvmAllocation {
  readonly address: bigint
  readonly grain: Grain
  /**
   * Whether commands on a queue of the program could not be ordered before later ones, so that their end is unknown.
   */
  abandoned = false
  /** Whether a program has transferred it out of a view: then it is never freed. */
  taken = false
  /** Views of it that a program has. */
  readonly shown = new Set<ArrayBuffer>()
  /** What of it the driver has mapped. */
  readonly mapped = new SvmRanges()
  readonly #free: (allocation: SvmAllocation) => Exit.Exit<void, GpuError>
  #buffers = 0

  constructor(address: bigint, grain: Grain, free: (allocation: SvmAllocation) => Exit.Exit<void, GpuError>) {
    this.address = address
    this.grain = grain
    this.#free = free
  }

  /** One more buffer is over it, or other code has one more reference to a cl_mem over it. */
  retain(): void {
    this.#buffers += 1
  }

  /** One buffer or reference less is over it; the last one frees it. */
  releaseUnsafe(): Exit.Exit<void, GpuError> {
    this.#buffers -= 1
    return this.#buffers === 0 ? this.#free(this) : Exit.void
  }
}

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

/**
 * Which bytes the driver has mapped. OpenCL does not count mappings by address as it does those of a cl_mem, and NVIDIA's
 * driver refuses to unmap what a second mapping of the same address has left unmapped already. So the driver maps no byte
 * twice, however many mappings of programs overlap.
 */
class SvmRanges {
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
