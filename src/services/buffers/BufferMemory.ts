/**
 * The one place that gives out the device memory of a buffer. Every recorded command calls {@link use}: it checks that
 * the buffer can be used now, and returns its memory, which the driver notes as used when it records the command. Work
 * that must happen before memory is used, as restoring spilled memory, belongs here.
 *
 * Call it in the synchronous step that uses the memory.
 *
 * @internal
 */
import * as BufferUsage from "../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import * as BufferLike from "./BufferLike.ts"
import * as BufferProblems from "./BufferProblems.ts"
import * as MappedMemory from "./mapping/MappedMemory.ts"

/** The device on which the memory is used. */
export interface Device {
  readonly info: DeviceInfo
  readonly status: Pick<DeviceStatus, "error">
}

/**
 * The memory of a buffer for a use that is no command, as a handle or a mapping; `undefined` for a buffer of 0 bytes,
 * or why it cannot be used. `host` is what the program itself does with it, if anything.
 */
export const of = (
  operation: string,
  buffer: BufferLike.BufferLike,
  { info, status }: Device,
  usage: number = 0,
  host?: BufferUsageRules.HostAccess | undefined
): DeviceBuffer | GpuError | undefined =>
  status.error ?? BufferLike.problem(operation, buffer, info) ?? usageProblem(operation, buffer, usage, host) ??
    BufferLike.deviceBuffer(buffer)

/** The same where memory is needed. */
export const some = (operation: string, buffer: BufferLike.BufferLike, device: Device): DeviceBuffer | GpuError =>
  of(operation, buffer, device) ?? BufferProblems.noMemory(operation)

/**
 * The memory of a buffer for a command that needs `usage`; `host` is the access of the program itself by that command,
 * if any. Throws the error of memory that cannot be used, as `valid` does.
 */
export const use = (
  operation: string,
  buffer: BufferLike.BufferLike,
  { info, status }: Device,
  usage: number,
  host?: BufferUsageRules.HostAccess | undefined
): DeviceBuffer | undefined => {
  // Each command calls this: a comparison with `undefined` costs less than finding out whether memory is an error.
  const problem = status.error ?? BufferLike.problem(operation, buffer, info) ??
    usageProblem(operation, buffer, usage, host)
  if (problem !== undefined) throw problem
  const memory = BufferLike.deviceBuffer(buffer)
  if (memory === undefined) return undefined
  const reads = usage === BufferUsage.copySrc
  const mapped = MappedMemory.problem(operation, memory, reads, () => BufferProblems.named(buffer))
  if (mapped !== undefined) throw mapped
  return memory
}

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
