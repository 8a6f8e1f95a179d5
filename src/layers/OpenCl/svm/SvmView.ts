/**
 * Typed arrays over shared virtual memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BufferRange from "../../../domain/data/BufferRange.ts"
import { detachMemory } from "../../../domain/data/DetachMemory.ts"
import * as StridedShape from "../../../domain/data/StridedShape.ts"
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"
import * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as Mapping from "../../../services/buffers/mapping/Mapping.ts"
import { ScopedMapping } from "../../../services/buffers/mapping/ScopedMapping.ts"
import type { DriverMapping } from "../../../services/device/QueueDriver.ts"
import type { ElementType } from "../../../services/queue/CommandQueue.ts"
import { leaveUnsafe, memoryAt } from "../memory/DriverMemory.ts"
import { keeperOf } from "../memory/OpenClObject.ts"
import type { OpenCl } from "../OpenCl.ts"
import { own } from "../OwnDevice.ts"
import { type SvmMemory, type SvmTarget, targetOf } from "./SvmMemory.ts"

/**
 * The range of a buffer to view, and the shape of the array.
 *
 * @category models
 * @since 0.1.0
 */
export interface ViewOptions extends StridedShape.ShapeOptions {
  /** Where to start, in bytes: a multiple of an element's bytes; 0 when left out. */
  readonly offset?: number | undefined
}

/**
 * The memory of a buffer of fine grain as a typed array with a shape, in place and without a copy: `data` has all the
 * elements, `getUnsafe` and `setUnsafe` find one by its indices. Commands may use the buffer meanwhile.
 *
 * **Details**
 *
 * It waits for all commands before, and shows their results. Later commands see what the program stores. The program
 * sees what later commands store after the next `CommandQueue.finish`; until then host and device must not use the same
 * elements, except with atomics.
 *
 * The view ends with the scope, with the lease, or by `Mapping.unmap`, whichever comes first. Then `data` is detached: its
 * length is 0, methods throw, and what is stored into it goes nowhere; `getUnsafe` and `setUnsafe` throw Released.
 *
 * Fails with Unsupported for memory of coarse grain, which has to be mapped (`Mapping.map`), or without shared virtual
 * memory; with InvalidRequest for a buffer that is not in it, a range outside the buffer, or a usage without `copySrc`
 * and `copyDst`; with Released, ForeignDevice, DeviceLost, and the errors of recorded work.
 *
 * **Example** (Filling an array where a kernel reads it)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue, type Kernel } from "effect-gpu-pool"
 * import { Svm } from "effect-gpu-pool/opencl"
 *
 * const roundTrip = Effect.fnUntraced(function*(kernel: Kernel.Kernel, count: number) {
 *   const x = yield* BufferPool.allocate(4 * count)
 *   const { data } = yield* Svm.view(x, Float32Array)
 *   for (let i = 0; i < count; i++) data[i] = i
 *   yield* CommandQueue.dispatch(kernel, { x }, count)
 *   yield* CommandQueue.finish
 *   return data[count - 1]
 * }, Effect.scoped)
 * ```
 *
 * @see pyopencl.fsvm_empty
 * @category views
 * @since 0.1.0
 */
export const view = <A extends Mapping.Elements>(
  buffer: BufferLike.BufferLike,
  type: ElementType<A>,
  options?: ViewOptions
): Effect.Effect<Mapping.MappedArray<A>, GpuError, OpenCl | Scope.Scope> =>
  Effect.flatMap(own, ({ svm }) =>
    // It checks and attaches the view in one synchronous step; then it waits for commands that may still write to the memory.
    ScopedMapping.acquire(operation, (view): Effect.Effect<Mapping.MappedArray<A>, GpuError> => {
      const target = valid(targetOf(svm, operation, buffer, BufferUsage.copySrc | BufferUsage.copyDst, "readwrite"))
      const offset = options?.offset ?? 0
      // Host and device address single bytes here, so WebGPU's rule of multiples of 4 does not hold.
      valid(BufferRange.offsetProblem(operation, buffer, offset, { bytes: 1, liftable: false }))
      const layout = valid(StridedShape.within(operation, buffer, offset, type, options ?? {}))
      const bytes = layout.span * type.BYTES_PER_ELEMENT
      const show = (memory: ArrayBuffer) => new Mapping.MappedArray(new type(memory), layout, view)
      if (target === undefined || bytes === 0) return Effect.succeed(show(new ArrayBuffer(0)))
      if (target.allocation.grain !== "fine") {
        return unsupported(
          operation,
          "opencl",
          "a view of memory of coarse grain",
          `Use Mapping.map, or allocate with grain: "fine".`
        )
      }
      // No exclusive claim: commands may use the buffer while the host does.
      const part = { label: buffer.label, size: bytes, owner: buffer, name: "its bytes" }
      return view.begin(operation, part, () => Exit.succeed(sharedView(svm, target, offset, bytes)), show)
    }))

const operation = "Svm.view"

/** The memory, shown once everything recorded has ended, and until the view ends. */
const sharedView = (svm: SvmMemory, target: SvmTarget, offset: number, bytes: number): DriverMapping => {
  const { address, allocation, buffer } = target
  const { api, info, status } = svm.device
  let memory: ArrayBuffer | undefined
  let hasEnded = false
  // Commands of earlier owners on other queues come first as well.
  const ordered = Effect.suspend(() => svm.queue.order.before({ buffers: [buffer] }))
  return {
    memory: Effect.flatMap(Effect.andThen(ordered, svm.queue.finish), () => {
      if (hasEnded) return Exit.succeed(new ArrayBuffer(0))
      // By now the layer may have closed, or the program may have destroyed the buffer.
      const gone = status.error ?? BufferLike.problem(operation, buffer, info)
      if (gone !== undefined) return Exit.fail(gone)
      memory = memoryAt(api, address + BigInt(offset), bytes)
      allocation.shown.add(memory)
      return Exit.succeed(memory)
    }),
    unmapUnsafe: () => {
      hasEnded = true
      if (memory === undefined || !allocation.shown.delete(memory)) return Exit.void
      return detachMemory(memory) ? Exit.void : Exit.fail(leaveUnsafe(api, buffer, keeperOf(buffer)))
    }
  }
}
