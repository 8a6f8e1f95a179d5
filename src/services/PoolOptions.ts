/**
 * How a pool behaves, and the check of it.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "../domain/GpuError.ts"
import type { SizePolicy } from "../domain/SizePolicy.ts"

/**
 * How a pool behaves.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferPoolOptions {
  /** From request to block size; `SizePolicy.defaultPolicy` without it. */
  readonly sizePolicy?: SizePolicy | undefined
  /**
   * The most bytes that the pool may manage and reserve together. Without it the device's own default: OpenCL's global
   * memory size, no limit elsewhere.
   */
  readonly maxBytes?: number | undefined
  /**
   * Whether the next owner of recycled memory can read what the last one left. A security choice: `"never"` (the
   * default) hands memory out as it is; `"acquire"` fills the whole block with zeros, in queue order, before each
   * lease.
   */
  readonly clear?: "never" | "acquire" | undefined
  /** The label of leases without one of their own. */
  readonly label?: string | undefined
}

const operation = "BufferPool.layer"

const maxBytesProblem = (maxBytes: unknown): GpuError | undefined =>
  maxBytes === undefined || maxBytes === Infinity || (Number.isSafeInteger(maxBytes) && Number(maxBytes) >= 0)
    ? undefined
    : invalidRequest(
      operation,
      `maxBytes ${String(maxBytes)} is no whole number of bytes from 0 to 2^53 - 1`,
      "Leave it out for the device's default, or pass Infinity for no limit."
    )

const clearProblem = (clear: unknown): GpuError | undefined =>
  clear === undefined || clear === "never" || clear === "acquire"
    ? undefined
    : invalidRequest(operation, `clear "${String(clear)}" is unknown`, `Pass "never" or "acquire".`)

/** Programs without a type checker pass anything. */
const policyProblem = (policy: Partial<SizePolicy> | null | undefined): GpuError | undefined => {
  if (policy === undefined) return undefined
  if (typeof policy?.blockSize !== "function") {
    return invalidRequest(
      operation,
      "the sizePolicy has no function blockSize",
      "Pass one of SizePolicy, as SizePolicy.sizeClasses(4), or an object with name, borrow and blockSize."
    )
  }
  const { borrow } = policy
  return typeof borrow === "number" && Number.isFinite(borrow) && borrow >= 0 ? undefined : invalidRequest(
    operation,
    `the sizePolicy's borrow ${String(borrow)} is no finite number from 0`,
    "Pass 0 to borrow nothing, or 1 to let a request take a block of up to twice its own block size."
  )
}

/**
 * Why no pool can be built with these options, or `undefined`.
 *
 * @internal
 */
export const optionsProblem = ({ clear, maxBytes, sizePolicy }: BufferPoolOptions): GpuError | undefined =>
  maxBytesProblem(maxBytes) ?? clearProblem(clear) ?? policyProblem(sizePolicy)
