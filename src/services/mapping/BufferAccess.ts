/**
 * What may be done with a buffer now: its usage, and what of it is mapped.
 *
 * @internal
 */
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as BufferLike from "../BufferLike.ts"
import { rangesOf } from "./MappedMemory.ts"

/**
 * Why a live buffer of this device cannot be used by a command that needs `usage`, or `undefined`.
 *
 * @internal
 */
export const problem = (operation: string, buffer: BufferLike.BufferLike, usage: number): GpuError | undefined =>
  usageProblem(operation, buffer, usage) ?? mappedProblem(operation, buffer, usage)

/**
 * Why a buffer does not have all of `usage`, or `undefined`.
 *
 * @internal
 */
export const usageProblem = (operation: string, buffer: BufferLike.BufferLike, usage: number): GpuError | undefined =>
  BufferUsage.has(buffer.usage, usage) ? undefined : invalidRequest(
    operation,
    `the buffer's usage ${BufferUsage.format(buffer.usage)} lacks ${BufferUsage.format(usage & ~buffer.usage)}`,
    "Name that flag in the usage when you allocate."
  )

/** OpenCL leaves undefined what a command does to memory that a program may write, or writes to what it may read. */
const mappedProblem = (operation: string, buffer: BufferLike.BufferLike, usage: number): GpuError | undefined => {
  const memory = BufferLike.deviceBuffer(buffer)
  const mapped = memory === undefined ? undefined : rangesOf(memory)
  if (mapped === undefined || mapped.state === "unmapped") return undefined
  if (mapped.state === "reading" && usage === BufferUsage.copySrc) return undefined
  return invalidRequest(
    operation,
    `the buffer is mapped for ${mapped.state}`,
    "End the mapping first: close its scope, or unmap it. What is mapped for reading alone can be read and copied from."
  )
}
