/**
 * Size policies: the function from requested bytes to the bytes of the block.
 *
 * A policy is a plain value, and its arithmetic is exact for every request from 1 to 2^53−1 bytes. Requests that share
 * a block size share a bin of the pool, so coarse policies reuse more and waste more.
 *
 * @since 0.1.0
 */
import { attempt, valid } from "../arguments/ArgumentProblem.ts"
import { formatted } from "../arguments/Format.ts"
import { floorLog2, maxBytes, powerOfTwo } from "../data/PowersOfTwo.ts"
import { type GpuError, invalidRequest, isGpuError } from "../GpuError.ts"

/**
 * The function from request to block size, and how far a request may borrow.
 *
 * **Details**
 *
 * `blockSize` takes an integer from 1 to 2^53−1 and answers an integer that is no smaller and no larger than 2^53−1. A
 * policy of your own must also be monotone, and idempotent (a block size is its own block size), or bins multiply.
 *
 * **Example** (Writing a policy)
 *
 * ```ts
 * import type { SizePolicy } from "effect-gpu-pool"
 *
 * const pages: SizePolicy.SizePolicy = {
 *   name: "pages",
 *   borrow: 0,
 *   blockSize: (request) => Math.min(Math.ceil(request / 4096) * 4096, Number.MAX_SAFE_INTEGER)
 * }
 * pages.blockSize(5000) // => 8192
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SizePolicy {
  /** The policy's name in logs and error messages. */
  readonly name: string
  /** After a miss in its own bin, a request may take a held block of up to `(1 + borrow) ×` its own block size. */
  readonly borrow: number
  /** The bytes of the block that serves a request of so many bytes. */
  readonly blockSize: (request: number) => number
  /**
   * What is wrong with the arguments that the policy was made of. Pools with such a policy fail with it; its block sizes
   * are those of {@link exact}.
   */
  readonly problem?: GpuError | undefined
}

/**
 * How far requests may borrow from larger bins; see {@link SizePolicy}.
 *
 * @category models
 * @since 0.1.0
 */
export interface BorrowOptions {
  /** A finite number ≥ 0: 1 lets a request take a held block of up to twice its own block size. Default 0. */
  readonly borrow?: number | undefined
}

const fillLowBits = (size: number, bits: number): number => {
  const exponent = floorLog2(size)
  if (exponent <= bits) return size
  if (exponent < 31) return size | ((1 << (exponent - bits)) - 1)
  const step = powerOfTwo(exponent - bits)
  return Math.floor(size / step) * step + (step - 1)
}

// Exact although the quotient is rounded: its distance from an integer, if any, is more than half a unit in the last
// place as long as n is below 2^53.
const roundUp = (n: number, granularity: number): number => Math.ceil(n / granularity) * granularity

const firstAtLeast = (sorted: ReadonlyArray<number>, request: number): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]! < request) low = middle + 1
    else high = middle
  }
  return low
}

const sortedSizes = (operation: string, sizes: Iterable<number>): ReadonlyArray<number> | GpuError => {
  const listed = Array.from(sizes)
  const wrong = listed.findIndex((size) => !Number.isSafeInteger(size) || size < 1)
  if (wrong !== -1) {
    return invalidRequest(
      operation,
      `the size ${formatted(listed[wrong])} is no whole number of bytes from 1 to 2^53-1`,
      "Pass sizes in bytes."
    )
  }
  if (listed.length === 0) {
    return invalidRequest(operation, "the table has no sizes", "Pass at least one size in bytes.")
  }
  return [...new Set(listed)].sort((a, b) => a - b)
}

const bitsProblem = (operation: string, bits: number): GpuError | undefined =>
  Number.isInteger(bits) && bits >= 0 && bits <= 52
    ? undefined
    : invalidRequest(
      operation,
      `bits ${formatted(bits)} is no whole number from 0 to 52`,
      "Pass 4, the pool's default."
    )

const borrowProblem = (operation: string, borrow: number | undefined): GpuError | undefined =>
  Number.isFinite(borrow) && borrow! >= 0 ? undefined : invalidRequest(
    operation,
    `borrow ${formatted(borrow)} is no finite number from 0`,
    "Pass 0, or 1 to borrow blocks of up to twice the block size."
  )

/**
 * A policy carries its own error, as kernels do: it is a constant in the options of a pool, and the pool's layer has an
 * error channel.
 */
const defined = (operation: string, define: (operation: string) => SizePolicy | GpuError): SizePolicy => {
  const policy = attempt(() => define(operation))
  return isGpuError(policy) ? { ...exact, name: operation, problem: policy } : policy
}

const borrowSuffix = (borrow: number): string => borrow === 0 ? "" : `, borrow ${borrow}`

/**
 * Every distinct size has a bin of its own: no padding, and reuse only by requests of exactly that size. Borrows
 * nothing.
 *
 * **Example** (Keeping sizes as they are)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 *
 * SizePolicy.exact.blockSize(1000) // => 1000
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const exact: SizePolicy = { name: "exact", borrow: 0, blockSize: (request) => request }

/**
 * PyOpenCL's and PyCUDA's memory pool policy, to the byte: the block is the largest size that has the request's leading
 * one and the `bits` bits after it. PyOpenCL calls the parameter `leading_bits_in_bin_id`; its default, and ours, is 4.
 * Borrows nothing.
 *
 * **Details**
 *
 * Each power of two is split into 2^bits bins, so waste is below `request / 2^bits`. A power of two wastes most; prefer
 * {@link sizeClasses} unless the sizes have to match PyOpenCL's.
 *
 * A pool with the policy fails with InvalidRequest when `bits` is not an integer from 0 to 52 (at 52, sizes are exact).
 *
 * **Example** (Matching PyOpenCL)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 *
 * SizePolicy.leadingBits(4).blockSize(1000) // => 1023
 * SizePolicy.leadingBits(4).blockSize(1024) // => 1087
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const leadingBits = (bits: number = 4): SizePolicy =>
  defined("SizePolicy.leadingBits", (operation) =>
    bitsProblem(operation, bits) ??
      { name: `leadingBits(${bits})`, borrow: 0, blockSize: (request) => fillLowBits(request, bits) })

/**
 * As many bins as {@link leadingBits}, each closed at the top: a request rounds up to the next of 2^bits equal steps
 * within its power of two. Powers of two and round sizes waste nothing and stay aligned, and waste is below
 * `request / 2^bits` for all.
 *
 * **Details**
 *
 * The block size of `s` is `leadingBits(bits).blockSize(s − 1) + 1`; of 1, 1; and where that would be above 2^53−1,
 * `s`.
 *
 * A pool with the policy fails with InvalidRequest when `bits` is not an integer from 0 to 52, or `borrow` is not a
 * finite number ≥ 0.
 *
 * **Example** (Choosing finer or coarser bins)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 *
 * SizePolicy.sizeClasses(4, { borrow: 1 }).blockSize(1000) // => 1024
 * SizePolicy.sizeClasses(0).blockSize(1025) // => 2048
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const sizeClasses = (bits: number, { borrow = 0 }: BorrowOptions = {}): SizePolicy =>
  defined("SizePolicy.sizeClasses", (operation) => {
    valid(bitsProblem(operation, bits) ?? borrowProblem(operation, borrow))
    return {
      name: `sizeClasses(${bits}${borrowSuffix(borrow)})`,
      borrow,
      blockSize: (request) => {
        if (request <= 1) return 1
        const size = fillLowBits(request - 1, bits) + 1
        return size > maxBytes ? request : size
      }
    }
  })

/**
 * The smallest size of the table that is no smaller than the request; above the largest, the request itself.
 *
 * **Details**
 *
 * The order of the sizes does not matter and repeated ones count once. A pool with the policy fails with InvalidRequest
 * when the table is empty, when a size is not an integer from 1 to 2^53−1, or when `borrow` is not a finite number ≥ 0.
 *
 * **Example** (Fitting known shapes)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 *
 * const frames = SizePolicy.table([1920 * 1080 * 4, 1280 * 720 * 4])
 * frames.blockSize(1_000_000) // => 3686400
 * frames.blockSize(9_000_000) // => 9000000
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const table = (sizes: Iterable<number>, { borrow = 0 }: BorrowOptions = {}): SizePolicy =>
  defined("SizePolicy.table", (operation) => {
    const sorted = valid(sortedSizes(operation, sizes))
    valid(borrowProblem(operation, borrow))
    const many = sorted.length === 1 ? "1 size" : `${sorted.length} sizes`
    return {
      name: `table(${many}${borrowSuffix(borrow)})`,
      borrow,
      blockSize: (request) => sorted[firstAtLeast(sorted, request)] ?? request
    }
  })

/**
 * The pool's default, `sizeClasses(4, { borrow: 1 })`: 16 bins per power of two, waste below 6.25 % of the request for
 * a block of its own, and held blocks of up to twice that size are used before the driver is asked.
 *
 * **Example** (What it makes of some requests)
 *
 * ```ts
 * import { SizePolicy } from "effect-gpu-pool"
 *
 * const sizes = [100, 1000, 1024, 1025].map(SizePolicy.defaultPolicy.blockSize)
 * sizes // => [100, 1024, 1024, 1088]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaultPolicy: SizePolicy = sizeClasses(4, { borrow: 1 })

/**
 * A policy's block sizes on a device: rounded up to its granularity, and where that is above `maxBlockBytes`, the
 * request itself rounded up to the granularity. The same holds for a request for which the policy breaks its contract
 * and returns less, or NaN.
 *
 * The rounded request may be above `maxBlockBytes` too (such a request can never be served), and even above 2^53−1:
 * compare the answer before using it.
 *
 * @category functions
 * @since 0.1.0
 */
export const forDevice = (
  policy: SizePolicy,
  { granularity, maxBlockBytes }: { readonly granularity: number; readonly maxBlockBytes: number }
): (request: number) => number => {
  const largest = Math.min(maxBlockBytes, maxBytes)
  return (request) => {
    const size = roundUp(policy.blockSize(request), granularity)
    return size >= request && size <= largest ? size : roundUp(request, granularity)
  }
}

/**
 * The largest block, in bytes, that a request with this block size may borrow: `(1 + borrow) × blockSize`, rounded down
 * and never above 2^53−1.
 *
 * @category functions
 * @since 0.1.0
 */
export const borrowLimit = (policy: SizePolicy, blockSize: number): number => {
  const limit = blockSize + policy.borrow * blockSize
  return limit < maxBytes ? Math.floor(limit) : maxBytes
}

/**
 * What is wrong with a policy that a program passes.
 *
 * @category functions
 * @since 0.1.0
 */
export const problem = (
  operation: string,
  policy: Partial<SizePolicy> | null | undefined
): GpuError | undefined => {
  if (policy === undefined) return undefined
  if (typeof policy?.blockSize !== "function") {
    return invalidRequest(
      operation,
      `the sizePolicy, ${formatted(policy)}, has no function blockSize`,
      "Pass one of SizePolicy, or an object with name, borrow and blockSize."
    )
  }
  return policy.problem ?? borrowProblem(operation, policy.borrow)
}
