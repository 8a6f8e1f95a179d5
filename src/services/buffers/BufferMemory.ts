/**
 * The one place where a buffer gives its device memory. {@link use} is the step of every recorded command: it checks that the
 * buffer can be used for that now, and answers the memory, which the driver notes as used when it records the command. What is to
 * happen before memory is used, as bringing back what was moved away, happens here.
 *
 * The check and what relies on it are in one synchronous step.
 *
 * @internal
 */
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import * as BufferLike from "./BufferLike.ts"
import * as BufferProblems from "./BufferProblems.ts"
import * as BufferAccess from "./mapping/BufferAccess.ts"
import * as MappedMemory from "./mapping/MappedMemory.ts"

/** The device on which the memory is used. */
export interface Device {
  readonly info: DeviceInfo
  readonly status: Pick<DeviceStatus, "error">
}

/**
 * For what is no command, as a handle or a mapping: the memory, nothing for a buffer of 0 bytes, or why there is none. `access` is
 * what the program itself does with it, if anything.
 */
export const of = (
  operation: string,
  buffer: BufferLike.BufferLike,
  { info, status }: Device,
  access?: { readonly usage: number; readonly host: BufferUsageRules.HostAccess | undefined }
): DeviceBuffer | GpuError | undefined =>
  status.error ?? BufferLike.problem(operation, buffer, info) ??
    (access === undefined ? undefined : BufferAccess.usageProblem(operation, buffer, access.usage, access.host)) ??
    BufferLike.deviceBuffer(buffer)

/** The same where memory is needed. */
export const some = (operation: string, buffer: BufferLike.BufferLike, device: Device): DeviceBuffer | GpuError =>
  of(operation, buffer, device) ?? BufferProblems.noMemory(operation)

/**
 * For a command that needs `usage`; `host` is what the program itself does with the bytes by it, if anything. Throws the error of
 * memory that cannot be used, as `valid` does.
 */
export const use = (
  operation: string,
  buffer: BufferLike.BufferLike,
  { info, status }: Device,
  usage: number,
  host?: BufferUsageRules.HostAccess | undefined
): DeviceBuffer | undefined => {
  const problem = status.error ?? BufferLike.problem(operation, buffer, info) ??
    BufferAccess.usageProblem(operation, buffer, usage, host)
  if (problem !== undefined) throw problem
  const memory = BufferLike.deviceBuffer(buffer)
  if (memory === undefined) return undefined
  const mapped = MappedMemory.problem(
    operation,
    memory,
    usage === BufferUsage.copySrc,
    () => BufferProblems.named(buffer)
  )
  if (mapped !== undefined) throw mapped
  return memory
}
