/**
 * What is wrong with a buffer of an operation, and how messages name it.
 *
 * @internal
 */
import * as Equal from "effect/Equal"
import { line } from "../../domain/arguments/Format.ts"
import { overlaps } from "../../domain/data/MemorySpan.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import * as DriverObject from "../device/DriverObject.ts"
import type { BufferLike } from "./BufferLike.ts"

/**
 * A buffer as messages name it.
 */
export const named = ({ label }: BufferLike): string =>
  label === undefined ? "the buffer" : `the buffer "${line(label)}"`

/**
 * Why a device buffer is not of the device `owner`, or `undefined`.
 */
export const ownerProblem = (operation: string, buffer: DeviceBuffer, owner: DeviceInfo): GpuError | undefined =>
  buffer.owner === owner ? undefined : DriverObject.foreign(operation, buffer, buffer.owner, owner)

/**
 * Why nothing can be copied from one device buffer to another, or `undefined`: they are one buffer, or parts of one.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 */
export const copyProblem = (operation: string, source: DeviceBuffer, target: DeviceBuffer): GpuError | undefined =>
  overlaps(source.wholeMemory, target.wholeMemory)
    ? invalidRequest(
      operation,
      `source and target are ${Equal.equals(source, target) ? "the same buffer" : "sub-regions of one buffer"}`,
      "WebGPU forbids a copy within one buffer: go through a second one."
    )
    : undefined

/**
 * The error of an operation that needs memory, on a buffer of 0 bytes.
 */
export const noMemory = (operation: string): GpuError =>
  invalidRequest(operation, "a buffer of no bytes has no memory", "Leave it out, or allocate at least one byte.")
