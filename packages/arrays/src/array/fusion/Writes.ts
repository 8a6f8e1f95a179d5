/**
 * When the memory of arrays was written in place, so that no recorded operation computes with elements that came later.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { Recorded } from "../ArrayValue.ts"
import type { Plan } from "./Plan.ts"
import type { Region } from "./Recording.ts"

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

/**
 * Why a plan may not be computed in a region, or `undefined`: memory that an operation reads was written after it was recorded, or it was
 * recorded on arrays that mean nothing here.
 */
export const problem = (
  { leaves, steps, vectors }: Plan,
  region: Region | undefined
): GpuError | undefined => {
  for (const step of steps) {
    if (step._tag !== "Apply" && step._tag !== "Product") continue
    const { operation, product, recorded } = step.pending
    if (recorded === undefined) continue
    if (recorded.region !== region && (recorded.region.isTraced || region?.isTraced === true)) {
      return elsewhere(operation.name)
    }
    if (writes === 0) continue
    if (product !== undefined && (isLate(product.a.array.lease, recorded) || isLate(product.b.array.lease, recorded))) {
      return stale(operation.name)
    }
    if (step._tag === "Product") continue
    for (const operand of step.operands) {
      const read = steps[operand]!
      if (read._tag === "Leaf" && isLate(vectors[leaves[read.leaf]!.vector]!.lease, recorded)) {
        return stale(operation.name)
      }
    }
  }
  return undefined
}

/** Whether memory was written after an operation was recorded. */
const isLate = (lease: PooledBuffer | undefined, { at }: Recorded): boolean => {
  const last = lease === undefined ? undefined : written.get(lease)
  return last !== undefined && last > at
}

const stale = (name: string): GpuError =>
  invalidRequest(
    `DeviceArray.${name}`,
    "it was recorded before one of its operands was written in place, and is computed only now",
    "Call DeviceArray.evaluate on the recorded array before the write, or record it after the write."
  )

const elsewhere = (name: string): GpuError =>
  invalidRequest(
    `DeviceArray.${name}`,
    "it was recorded outside of the compiled function that computes it, or inside of one and is computed outside",
    "Pass the array to the function as an argument, or return it."
  )
