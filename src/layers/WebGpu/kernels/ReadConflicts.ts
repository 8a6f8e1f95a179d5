/**
 * Vectors that a dispatch only reads, of GPUBuffers that it also writes elsewhere: WebGPU has no such dispatch, though it
 * may write two parts of one GPUBuffer, or read two. So it reads a copy.
 *
 * @internal
 */
import type { VectorBinding } from "../../../services/device/QueueDriver.ts"
import { encodeCopy } from "../commands/ByteCopies.ts"
import type { Scratch } from "../commands/Scratch.ts"
import { gpuOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import type { Bound } from "./BindGroups.ts"

/** The indices of the vectors that a dispatch may not read where they are. */
export type ReadConflicts = ReadonlyArray<number>

/** The indices of such vectors; `undefined` without any. Only parts of buffers can be such vectors. */
export const of = (
  vectors: ReadonlyArray<VectorBinding>,
  reads: ReadonlyArray<boolean>
): ReadConflicts | undefined => {
  let found: Array<number> | undefined
  for (let index = 0; index < vectors.length; index++) {
    const { buffer } = vectors[index]!
    if (!reads[index]! || buffer.parent === undefined) continue
    const gpu = gpuOf(buffer)
    if (vectors.some((other, at) => !reads[at]! && gpuOf(other.buffer) === gpu)) (found ??= []).push(index)
  }
  return found
}

/** The same with copies of these vectors. A vector that is given twice is copied once. */
export const resolved = (
  encoder: WebGpuHandle.CommandEncoder,
  { images, samplers, vectors }: Bound,
  conflicts: ReadConflicts,
  scratch: Scratch
): Bound => {
  const all = vectors.slice()
  for (const [number, index] of conflicts.entries()) {
    const vector = vectors[index]!
    const { buffer, size } = vector
    const same = conflicts.find((other) => vectors[other]!.buffer === buffer && vectors[other]!.size === size)!
    if (same < index) all[index] = { ...vector, buffer: all[same]!.buffer }
    else {
      const bytes = roundUp4(size)
      const copy = scratch.atLeast(number, bytes)
      encodeCopy(encoder, gpuOf(buffer), buffer.origin, copy.gpu, 0, bytes)
      all[index] = { ...vector, buffer: copy }
    }
  }
  return { images, samplers, vectors: all }
}
