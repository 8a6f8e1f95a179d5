/**
 * The checked target of an operation on shared virtual memory.
 *
 * @internal
 */
import type * as BufferUsage from "../../../domain/BufferUsage.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import { shown } from "../../../domain/ShownValue.ts"
import * as BufferLike from "../../../services/buffers/BufferLike.ts"
import * as BufferAccess from "../../../services/buffers/mapping/BufferAccess.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import { OpenClBuffer } from "../OpenClBuffer.ts"
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
 * The address of a buffer, for an operation that needs `usage` and by which the program itself does `host`; `undefined`
 * for a buffer of 0 bytes, which has none.
 */
export const targetOf = (
  svm: SvmMemory,
  operation: string,
  owner: BufferLike.BufferLike,
  usage: BufferUsage.BufferUsage,
  host?: BufferUsage.HostAccess
): SvmTarget | GpuError | undefined => {
  const { info, status } = svm.device
  const problem = status.error ?? missingProblem(operation, svm.capabilities) ??
    BufferLike.problem(operation, owner, info) ?? BufferAccess.usageProblem(operation, owner, usage, host)
  if (problem !== undefined) return problem
  const buffer = BufferLike.deviceBuffer(owner)
  if (buffer === undefined) return undefined
  const allocation = buffer instanceof OpenClBuffer ? buffer.beneath : undefined
  if (allocation === undefined) {
    return invalidRequest(
      operation,
      "the buffer is not in shared virtual memory",
      "Allocate it from Svm.layerPool, or use CommandQueue and Mapping, which work on every buffer."
    )
  }
  return { owner, buffer, allocation, address: allocation.address + BigInt(buffer.origin) }
}

/** The same for a command, which cannot have the buffer while it is mapped. */
export const usableTargetOf = (
  svm: SvmMemory,
  operation: string,
  owner: BufferLike.BufferLike,
  usage: BufferUsage.BufferUsage
): SvmTarget | GpuError | undefined => {
  const target = targetOf(svm, operation, owner, usage)
  return isGpuError(target) ? target : BufferAccess.problem(operation, owner, usage) ?? target
}

/**
 * Why bytes from `offset` on are no range of a buffer of `size` bytes, or `undefined`. Host and device address single
 * bytes here, so WebGPU's rule of multiples of 4 does not hold: a range has whole items of `itemSize` bytes.
 */
export const rangeProblem = (
  operation: string,
  size: number,
  offset: number,
  bytes: number,
  itemSize: number,
  name = "offset"
): GpuError | undefined => {
  if (!isMultiple(offset, itemSize)) {
    return invalidRequest(
      operation,
      `${name} ${shown(offset)} is no multiple of ${itemSize} bytes, zero or more`,
      "Pass it in bytes, at the start of an element."
    )
  }
  if (!isMultiple(bytes, itemSize)) {
    return invalidRequest(
      operation,
      `a size of ${shown(bytes)} bytes is no whole number of elements of ${itemSize} bytes, zero or more`,
      "Pass the size, in bytes."
    )
  }
  return offset + bytes <= size ? undefined : invalidRequest(
    operation,
    `bytes ${offset} to ${offset + bytes} are outside the buffer of ${size} bytes`,
    "Stay within the requested size, or allocate more."
  )
}

const isMultiple = (value: unknown, of: number): boolean =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value % of === 0
