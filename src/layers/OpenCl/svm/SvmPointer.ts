/**
 * An address in shared virtual memory.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import { inOneLine, showing } from "../../../domain/arguments/Showing.ts"

/**
 * Where a lease or device buffer lies in shared virtual memory: the same address on host and device. Two of them are
 * equal (`Equal.equals`, and as keys of a `HashMap`) when their addresses are, whatever their sizes.
 *
 * It is a number for other OpenCL code, and keeps nothing alive: the address is valid until the lease is released.
 *
 * **Example** (Memory that is known by its address)
 *
 * ```ts
 * import { Effect, MutableHashMap } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const names = MutableHashMap.empty<Svm.SvmPointer, string>()
 * const register = (x: BufferPool.PooledBuffer, name: string) =>
 *   Effect.map(Svm.pointer(x), (pointer) => MutableHashMap.set(names, pointer, name))
 * ```
 *
 * @see pyopencl.SVMPointer
 * @category models
 * @since 0.1.0
 */
export class SvmPointer implements Equal.Equal {
  readonly address: bigint
  /** Bytes from the address on: the lease's size. */
  readonly size: number

  constructor(address: bigint, size: number) {
    this.address = address
    this.size = size
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof SvmPointer && this.address === that.address
  }

  [Hash.symbol](): number {
    return Hash.string(this.address.toString(36))
  }
}

showing<SvmPointer>(
  ({ address, size }) => inOneLine("SvmPointer", undefined, [`0x${address.toString(16)}`, `${size} B`])
)(SvmPointer.prototype)
