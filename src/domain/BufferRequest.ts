/**
 * The rules for a request for memory, checked before the fallback begins.
 *
 * @internal
 */
import { formatted } from "./arguments/Format.ts"
import * as Label from "./arguments/Label.ts"
import * as BufferUsageRules from "./BufferUsageRules.ts"
import type { DeviceLimits } from "./device/DeviceInfo.ts"
import { type GpuError, invalidRequest, limitExceeded, type LimitOwner } from "./GpuError.ts"

/** Why `size` is no valid byte count, or `undefined`. Zero is valid. */
export const sizeProblem = (operation: string, size: number): GpuError | undefined =>
  Number.isSafeInteger(size) && size >= 0 ? undefined : invalidRequest(
    operation,
    `the size ${formatted(size)} is no whole number of bytes from 0 to 2^53 - 1`,
    sizeHint(size)
  )

const sizeHint = (size: unknown): string => {
  if (typeof size !== "number") return "Pass a number of bytes, as 64 * 1024 * 1024 for 64 MiB."
  return size > 0 && size < Number.MAX_SAFE_INTEGER
    ? "Round it up with Math.ceil."
    : "Check what it is computed from."
}

/** Why no buffer can have this usage, or `undefined`. */
export const usageProblem = (operation: string, usage: number): GpuError | undefined => {
  const problem = BufferUsageRules.problem(usage)
  return problem === undefined
    ? undefined
    : invalidRequest(
      operation,
      problem,
      "Join flags of BufferUsage with |, as BufferUsage.storage | BufferUsage.copyDst."
    )
}

/**
 * What is wrong with a size, a usage and a label, or `undefined`. Valid ones are plain data of the types that drivers
 * take.
 */
export const problem = (
  operation: string,
  size: number,
  usage: number,
  label: string | undefined
): GpuError | undefined =>
  sizeProblem(operation, size) ?? usageProblem(operation, usage) ?? Label.problem(operation, label)

/** LimitExceeded when `bytes` are over a limit, else `undefined`. */
export const limitProblem = (
  operation: string,
  bytes: number,
  limitName: string,
  limit: number,
  owner: LimitOwner
): GpuError | undefined =>
  bytes <= limit ? undefined : limitExceeded({ operation, requested: bytes, limitName, limit, owner })

/** The same for a limit of the device. */
export const deviceLimitProblem = (
  operation: string,
  bytes: number,
  limits: DeviceLimits,
  limitName: "maxBufferSize" | "memoryBytes"
): GpuError | undefined => limitProblem(operation, bytes, limitName, limits[limitName] ?? Infinity, device)

const device: LimitOwner = { kind: "device" }

/** LimitExceeded when `bytes` are more than the device could ever give in one buffer, else `undefined`. */
export const deviceProblem = (
  operation: string,
  bytes: number,
  limits: DeviceLimits
): GpuError | undefined =>
  deviceLimitProblem(operation, bytes, limits, "maxBufferSize") ??
    deviceLimitProblem(operation, bytes, limits, "memoryBytes")
