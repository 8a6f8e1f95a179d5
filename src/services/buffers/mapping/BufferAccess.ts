/**
 * Which commands a buffer is for, by its usage.
 *
 * @internal
 */
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../BufferLike.ts"

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
