/**
 * The rules for a request for memory, checked before anything is tried.
 *
 * @since 0.1.0
 */
import * as BufferUsage from "./BufferUsage.ts"
import { type GpuError, invalidRequest, LimitExceeded, make } from "./GpuError.ts"

/**
 * Why `size` is no byte count that could be asked for, or `undefined`. Zero is one.
 *
 * @category predicates
 * @since 0.1.0
 */
export const sizeProblem = (operation: string, size: number): GpuError | undefined =>
  Number.isSafeInteger(size) && size >= 0 ? undefined : invalidRequest(
    operation,
    `the size ${String(size)} is no whole number of bytes from 0 to 2^53 - 1`,
    "Round it up with Math.ceil, and check where it comes from if it is negative or NaN."
  )

/**
 * Why a driver cannot be asked for no bytes at all, or `undefined`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const emptyProblem = (operation: string, size: number): GpuError | undefined =>
  size > 0
    ? undefined
    : invalidRequest(
      operation,
      "no device has a buffer of 0 bytes",
      "Take it from a pool, whose zero-byte leases are legal."
    )

/**
 * Why no buffer can have this usage, or `undefined`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const usageProblem = (operation: string, usage: number): GpuError | undefined => {
  const problem = BufferUsage.problem(usage)
  return problem === undefined
    ? undefined
    : invalidRequest(operation, problem, "Join flags of BufferUsage with |, as storage | copyDst.")
}

/**
 * LimitExceeded when `bytes` are over a limit, else `undefined`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const limitProblem = (
  operation: string,
  bytes: number,
  limitName: string,
  limit: number
): GpuError | undefined =>
  bytes <= limit ? undefined : make(new LimitExceeded({ operation, requested: bytes, limitName, limit }))
