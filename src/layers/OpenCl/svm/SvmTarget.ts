/**
 * The checked target of an operation on shared virtual memory.
 *
 * @internal
 */
import type * as BufferUsage from "../../../domain/BufferUsage.ts"
import type * as BufferUsageRules from "../../../domain/BufferUsageRules.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import type * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../../services/buffers/BufferMemory.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import { allocationOf } from "../memory/OpenClObject.ts"
import type { SvmAllocation } from "./SvmAllocation.ts"
import { missingProblem } from "./SvmCapabilities.ts"
import type { SvmMemory } from "./SvmMemory.ts"

export interface SvmTarget {
  /** The lease or device buffer that the program passed. */
  readonly owner: BufferLike.BufferLike
  /** The device buffer of it. */
  readonly buffer: DeviceBuffer
  readonly allocation: SvmAllocation
  /** Where the buffer begins: a region's own address. */
  readonly address: bigint
}

/**
 * The address of a buffer, for an operation that needs the usage `usage` and the host access `host`; `undefined` for a
 * buffer of 0 bytes, which has none.
 */
export const targetOf = (
  svm: SvmMemory,
  operation: string,
  owner: BufferLike.BufferLike,
  usage: BufferUsage.BufferUsage,
  host?: BufferUsageRules.HostAccess
): SvmTarget | GpuError | undefined => {
  const { device } = svm
  const missing = device.status.error ?? missingProblem(operation, svm.capabilities)
  if (missing !== undefined) return missing
  const buffer = BufferMemory.of(operation, owner, device, { usage, host })
  if (buffer === undefined || isGpuError(buffer)) return buffer
  const allocation = allocationOf(buffer)
  if (allocation === undefined) {
    return invalidRequest(
      operation,
      "the buffer is not in shared virtual memory",
      "Allocate it from Svm.layerPool, or use CommandQueue and Mapping, which work on every buffer."
    )
  }
  return { owner, buffer, allocation, address: allocation.address + BigInt(buffer.origin) }
}
