/**
 * Which commands may use a buffer now: its usage and its mappings decide.
 *
 * @internal
 */
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import * as BufferLike from "../BufferLike.ts"
import * as BufferProblems from "../BufferProblems.ts"
import * as MappedMemory from "./MappedMemory.ts"

/**
 * Why a live buffer of this device cannot be used by a command that needs `usage`, or `undefined`. `host` is what the
 * program itself does with its bytes by that command, if anything.
 */
export const problem = (
  operation: string,
  buffer: BufferLike.BufferLike,
  usage: number,
  host?: BufferUsageRules.HostAccess | undefined
): GpuError | undefined => usageProblem(operation, buffer, usage, host) ?? mappedProblem(operation, buffer, usage)

/** Which flag of `usage` a buffer lacks, or why the program may not access it, or `undefined`. */
export const usageProblem = (
  operation: string,
  buffer: BufferLike.BufferLike,
  usage: number,
  host?: BufferUsageRules.HostAccess | undefined
): GpuError | undefined => {
  const lacks = BufferUsageRules.lackProblem(operation, buffer.usage, usage)
  if (lacks !== undefined) return lacks
  if (host === undefined || BufferUsageRules.allowsHost(buffer.usage, host)) return undefined
  return invalidRequest(
    operation,
    `the buffer is ${BufferUsage.format(BufferUsageRules.hostAccess(buffer.usage))}, and this is a ${
      hostNames[host]
    } by the program`,
    "Allocate the buffer without that flag, or copy on the device to or from one without it."
  )
}

const hostNames: { readonly [A in BufferUsageRules.HostAccess]: string } = {
  read: "read",
  write: "write",
  readwrite: "read and write"
}

const mappedProblem = (operation: string, buffer: BufferLike.BufferLike, usage: number): GpuError | undefined => {
  const memory = BufferLike.deviceBuffer(buffer)
  return memory === undefined
    ? undefined
    : MappedMemory.problem(
      operation,
      memory,
      usage === BufferUsage.copySrc,
      () => BufferProblems.named(buffer)
    )
}
