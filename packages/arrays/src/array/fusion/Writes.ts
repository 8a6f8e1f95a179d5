/**
 * When the memory of arrays was written in place, so that no recorded operation computes with elements that came later.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { Plan } from "./Plan.ts"

/** The number of writes so far. */
let writes = 0

const written = new WeakMap<PooledBuffer, number>()

/** The time of an operation that is recorded now. */
export const now = (): number => writes

/** Says that a command that is recorded in this step writes an array's memory. */
export const note = (lease: PooledBuffer): void => {
  writes += 1
  written.set(lease, writes)
}

/** Why a plan may not be computed any more, or `undefined`: memory that an operation reads was written after it was recorded. */
export const problem = ({ leaves, steps, vectors }: Plan): GpuError | undefined => {
  if (writes === 0) return undefined
  for (const step of steps) {
    if (step._tag !== "Apply") continue
    const { operation, recordedAt } = step.pending
    for (const operand of step.operands) {
      const read = steps[operand]!
      if (read._tag !== "Leaf") continue
      const last = written.get(vectors[leaves[read.leaf]!.vector]!.lease)
      if (last !== undefined && last > recordedAt) return stale(operation.name)
    }
  }
  return undefined
}

const stale = (name: string): GpuError =>
  invalidRequest(
    `DeviceArray.${name}`,
    "it was recorded before one of its operands was written in place, and is computed only now",
    "Call DeviceArray.evaluate on the recorded array before the write, or record it after the write."
  )
