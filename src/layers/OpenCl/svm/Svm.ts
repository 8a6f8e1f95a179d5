/**
 * Shared virtual memory on OpenCL: memory with one address for host and device, pooled as buffers are.
 *
 * **Details**
 *
 * A buffer from {@link layerAllocator} or {@link layerPool} is a cl_mem over memory of `clSVMAlloc`. Everything that works
 * on buffers works on it, unchanged: `CommandQueue`, `Mapping`, kernels, device arrays. This module has what only shared
 * memory has: views of it in place, the address itself, and use on queues of the program's own.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Hash from "effect/Hash"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { inOneLine, showing } from "../../../domain/arguments/Showing.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as BufferProblems from "../../../services/buffers/BufferProblems.ts"
import type { OpenCl } from "../OpenCl.ts"
import { own, useOpenedDevice } from "../OwnDevice.ts"
import type { SvmCapabilities } from "./SvmCapabilities.ts"
import { targetOf } from "./SvmMemory.ts"

export { type AllocatorOptions, layerAllocator, layerPool, type PoolOptions } from "./SvmAllocator.ts"
export type { Grain, SvmCapabilities } from "./SvmCapabilities.ts"
export { bindToQueue, unbindFromQueue } from "./SvmQueues.ts"
export { view, type ViewOptions } from "./SvmView.ts"

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

/**
 * Which kinds of shared virtual memory the open device has; on one without any, `missing` says why.
 *
 * **Example** (Fine grain where there is one)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const pool = Layer.unwrap(Effect.map(
 *   Svm.capabilities,
 *   ({ fineGrain }) => Svm.layerPool({ grain: fineGrain ? "fine" : "coarse" })
 * ))
 * ```
 *
 * @see pyopencl.characterize.has_coarse_grain_buffer_svm
 * @category accessors
 * @since 0.1.0
 */
export const capabilities: Effect.Effect<SvmCapabilities, never, OpenCl> = Effect.map(
  own,
  ({ svm }) => svm.capabilities
)

/**
 * The address of a lease or device buffer, the same on host and device, for `clSetKernelArgSVMPointer` and other OpenCL
 * code. A sub-region has its own address.
 *
 * Fails with InvalidRequest for a buffer that is not in shared virtual memory, and for a buffer of 0 bytes, which has
 * no address; with Unsupported, Released, ForeignDevice or DeviceLost.
 *
 * **Gotchas**
 *
 * An address is valid only while the lease lives: when it ends, also by another fiber, the memory belongs to the next
 * owner or is freed. Use it in a scope that no other fiber closes; {@link bindToQueue} orders what is enqueued
 * elsewhere before the next owner's work.
 *
 * **Example** (An argument of a raw kernel)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 * import { OpenCl, Svm } from "effect-gpu-pool/opencl"
 *
 * const setArgument = Effect.fnUntraced(function*(kernel: bigint, index: number, x: BufferPool.PooledBuffer) {
 *   const { api } = yield* OpenCl.OpenCl
 *   return api.clSetKernelArgSVMPointer(kernel, index, (yield* Svm.pointer(x)).address)
 * })
 * ```
 *
 * @see pyopencl.SVMPointer.svm_ptr
 * @category accessors
 * @since 0.1.0
 */
export const pointer = (buffer: BufferLike.BufferLike): Effect.Effect<SvmPointer, GpuError, OpenCl> =>
  useOpenedDevice("Svm.pointer", ({ svm }) => {
    const operation = "Svm.pointer"
    const target = valid(targetOf(svm, operation, buffer, 0) ?? BufferProblems.noMemory(operation))
    const command = { buffers: [target.buffer] }
    svm.device.queues.handedOut(command)
    return Effect.as(svm.queue.order.before(command), new SvmPointer(target.address, buffer.size))
  })
