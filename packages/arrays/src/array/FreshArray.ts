/**
 * Arrays over a lease of their own that commands fill.
 *
 * @internal
 */
import { BufferPool } from "effect-gpu-pool/BufferPool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
import * as Lease from "effect-gpu-pool/Lease"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { dense, type DeviceArray } from "./ArrayValue.ts"
import type { ArrayServices, Computed } from "./fusion/Evaluation.ts"
import * as Shape from "./layout/Shape.ts"

/** The commands that give a fresh array its elements. */
export type Fill = (
  lease: PooledBuffer,
  queue: CommandQueue["Service"]
) => Effect.Effect<void, GpuError, ArrayServices>

/**
 * An array with memory of its own, filled by commands; an empty array needs none. Unsupported before anything is
 * allocated where the device lacks the type. If a command fails or is interrupted, the memory is released at once,
 * since the scope may live for long.
 */
export const make = <D extends DType.DType>(
  operation: string,
  dtype: D,
  shape: Shape.Shape,
  fill: Fill,
  inputs: () => ReadonlyArray<PooledBuffer> = none
): Computed<D> =>
  Effect.withFiber((fiber) => {
    const queue = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
    const unsupported = typeProblem(operation, queue.info, dtype, "the elements")
    if (unsupported !== undefined) return unsupported
    const elements = Shape.size(shape)
    const pool = Context.getUnsafe(fiber.context as Context.Context<BufferPool>, BufferPool)
    let array: DeviceArray<D> | undefined
    const filled = Effect.flatMap(
      pool.allocate(elements * DType.byteSize(dtype), { label: operation, apart: inputs() }),
      (lease) => {
        array = dense(dtype, shape, lease)
        return elements === 0 ? Exit.succeed(array) : Effect.as(fill(lease, queue), array)
      }
    )
    return Effect.onExitPrimitive(
      filled,
      (exit) => Exit.isSuccess(exit) || array === undefined ? undefined : giveBack(array)
    )
  })

const none = (): ReadonlyArray<never> => []

const giveBack = ({ lease }: DeviceArray): Effect.Effect<void> => Effect.ignore(Lease.release(lease!))
