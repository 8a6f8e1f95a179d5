/**
 * One piece of shared virtual memory.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { Grain } from "./SvmCapabilities.ts"

/**
 * What clSVMAlloc gave. A cl_mem over it does not keep it alive, nor does a sub-buffer of that: so it goes back after the
 * last buffer that stands on it.
 *
 * @internal
 */
export class SvmAllocation {
  readonly address: bigint
  readonly grain: Grain
  /** Work on a queue of the program's could not be ordered before what comes next: nobody knows when it ends. */
  abandoned = false
  /** A program has moved it out of a view: it is the program's, and never freed. */
  taken = false
  /** Views of it that a program has. */
  readonly shown = new Set<ArrayBuffer>()
  readonly #free: (allocation: SvmAllocation) => Exit.Exit<void, GpuError>
  #buffers = 0

  constructor(address: bigint, grain: Grain, free: (allocation: SvmAllocation) => Exit.Exit<void, GpuError>) {
    this.address = address
    this.grain = grain
    this.#free = free
  }

  /** One more buffer stands on it, or one more reference to a cl_mem over it was lent. */
  retain(): void {
    this.#buffers += 1
  }

  /** One of them was given back to the driver. */
  releaseUnsafe(): Exit.Exit<void, GpuError> {
    this.#buffers -= 1
    return this.#buffers === 0 ? this.#free(this) : Exit.void
  }
}
