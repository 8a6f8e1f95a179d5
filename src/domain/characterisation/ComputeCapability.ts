/**
 * The resources of one multiprocessor of an NVIDIA GPU, by compute capability: occupancy is computed from them.
 *
 * Numbers are from NVIDIA's own documents, and only where they agree. Capability 11.0 (its columns cannot be told apart)
 * and 12.0 (the programming guide says 24 resident blocks, the tuning guide 32) are left out until they do.
 *
 * @see https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications
 * @see `cuda_occupancy.h` of the CUDA toolkit, for how registers and shared memory are handed out
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { type GpuError, unsupported } from "../GpuError.ts"

/**
 * A compute capability, as 8.6.
 *
 * @category models
 * @since 0.1.0
 */
export interface ComputeCapability {
  readonly major: number
  readonly minor: number
}

/**
 * One multiprocessor. Sizes of shared memory are bytes, registers are of 32 bits.
 *
 * @category models
 * @since 0.1.0
 */
export interface Multiprocessor {
  readonly computeCapability: ComputeCapability
  readonly warpSize: number
  readonly maxThreadsPerBlock: number
  /** Blocks that can be resident at once. */
  readonly blocks: number
  /** Warps that can be resident at once. */
  readonly warps: number
  readonly registers: number
  readonly registersPerBlock: number
  readonly registersPerThread: number
  /** A warp gets registers in multiples of this. */
  readonly registerUnit: number
  /** Parts that the registers and warps are divided among. */
  readonly subPartitions: number
  readonly sharedMemoryBytes: number
  /** The most that one block can have, after opting in where that is needed. */
  readonly sharedMemoryBytesPerBlock: number
  /** A block gets shared memory in multiples of this. */
  readonly sharedMemoryUnit: number
  /** Shared memory that the driver uses itself, for each block. */
  readonly reservedSharedMemoryBytes: number
}

const KiB = 1024

/** A row without an entry has the common one. */
interface Row {
  readonly blocks: number
  readonly warps: number
  readonly registers?: number
  readonly registersPerBlock?: number
  readonly sharedKiB: number
  readonly sharedKiBPerBlock: number
}

const rows: ReadonlyMap<string, Row> = new Map([
  ["3.0", { blocks: 16, warps: 64, sharedKiB: 48, sharedKiBPerBlock: 48 }],
  ["3.5", { blocks: 16, warps: 64, sharedKiB: 48, sharedKiBPerBlock: 48 }],
  ["3.7", { blocks: 16, warps: 64, registers: 128 * KiB, sharedKiB: 112, sharedKiBPerBlock: 48 }],
  ["5.0", { blocks: 32, warps: 64, sharedKiB: 64, sharedKiBPerBlock: 48 }],
  ["5.2", { blocks: 32, warps: 64, sharedKiB: 96, sharedKiBPerBlock: 48 }],
  ["5.3", { blocks: 32, warps: 64, registersPerBlock: 32 * KiB, sharedKiB: 64, sharedKiBPerBlock: 48 }],
  ["6.0", { blocks: 32, warps: 64, sharedKiB: 64, sharedKiBPerBlock: 48 }],
  ["6.1", { blocks: 32, warps: 64, sharedKiB: 96, sharedKiBPerBlock: 48 }],
  ["6.2", { blocks: 32, warps: 64, registersPerBlock: 32 * KiB, sharedKiB: 64, sharedKiBPerBlock: 48 }],
  ["7.0", { blocks: 32, warps: 64, sharedKiB: 96, sharedKiBPerBlock: 96 }],
  ["7.5", { blocks: 16, warps: 32, sharedKiB: 64, sharedKiBPerBlock: 64 }],
  ["8.0", { blocks: 32, warps: 64, sharedKiB: 164, sharedKiBPerBlock: 163 }],
  ["8.6", { blocks: 16, warps: 48, sharedKiB: 100, sharedKiBPerBlock: 99 }],
  ["8.7", { blocks: 16, warps: 48, sharedKiB: 164, sharedKiBPerBlock: 163 }],
  ["8.9", { blocks: 24, warps: 48, sharedKiB: 100, sharedKiBPerBlock: 99 }],
  ["9.0", { blocks: 32, warps: 64, sharedKiB: 228, sharedKiBPerBlock: 227 }],
  ["10.0", { blocks: 32, warps: 64, sharedKiB: 228, sharedKiBPerBlock: 227 }]
])

/**
 * The compute capabilities that {@link multiprocessor} knows.
 *
 * @category constants
 * @since 0.1.0
 */
export const known: ReadonlyArray<ComputeCapability> = [...rows.keys()].map((text) => {
  const [major, minor] = text.split(".").map(Number)
  return { major: major!, minor: minor! }
})

/**
 * A compute capability as documents write it, `"8.6"`.
 *
 * @category formatting
 * @since 0.1.0
 */
export const format = (capability: ComputeCapability): string => {
  return `${capability.major}.${capability.minor}`
}

/**
 * Whether a capability is at least another one.
 *
 * **Example** (Turing is no Ampere)
 *
 * ```ts
 * import { ComputeCapability } from "effect-gpu-pool/devices"
 *
 * ComputeCapability.isAtLeast({ major: 7, minor: 5 }, { major: 8, minor: 0 }) // => false
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isAtLeast = (one: ComputeCapability, other: ComputeCapability): boolean => {
  return one.major > other.major || (one.major === other.major && one.minor >= other.minor)
}

const subPartitions = ({ major, minor }: ComputeCapability): number => major === 6 && minor === 0 ? 2 : 4

/**
 * The multiprocessor of a compute capability; Unsupported for those that no agreeing source is known for.
 *
 * **Example** (Warps on an A100)
 *
 * ```ts
 * import { Result } from "effect"
 * import { ComputeCapability } from "effect-gpu-pool/devices"
 *
 * const a100 = ComputeCapability.multiprocessor({ major: 8, minor: 0 })
 * Result.getOrThrow(a100).warps // => 64
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const multiprocessor = (
  computeCapability: ComputeCapability
): Result.Result<Multiprocessor, GpuError> => {
  const row = rows.get(format(computeCapability))
  if (row === undefined) {
    return Result.fail(unsupported(
      "ComputeCapability.multiprocessor",
      "opencl",
      `occupancy for compute capability ${format(computeCapability)}`,
      `Known are ${[...rows.keys()].join(", ")}; for others pass a Multiprocessor of your own to Occupancy.make.`
    ))
  }
  const { major } = computeCapability
  return Result.succeed({
    computeCapability,
    warpSize: 32,
    maxThreadsPerBlock: 1024,
    blocks: row.blocks,
    warps: row.warps,
    registers: row.registers ?? 64 * KiB,
    registersPerBlock: row.registersPerBlock ?? 64 * KiB,
    registersPerThread: format(computeCapability) === "3.0" ? 63 : 255,
    registerUnit: 256,
    subPartitions: subPartitions(computeCapability),
    sharedMemoryBytes: row.sharedKiB * KiB,
    sharedMemoryBytesPerBlock: row.sharedKiBPerBlock * KiB,
    sharedMemoryUnit: major >= 8 ? 128 : 256,
    reservedSharedMemoryBytes: major >= 8 ? KiB : 0
  })
}
