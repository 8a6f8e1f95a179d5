/**
 * One piece of shared virtual memory.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { Grain } from "./SvmCapabilities.ts"
import { SvmRanges } from "./SvmRanges.ts"

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

  /** One more buffer is over it, or one more reference to a cl_mem over it was lent. */
  retain(): void {
    this.#buffers += 1
  }

  /** One buffer or reference less is over it; the last one frees it. */
  releaseUnsafe(): Exit.Exit<void, GpuError> {
    this.#buffers -= 1
    return this.#buffers === 0 ? this.#free(this) : Exit.void
  }
}
