/**
 * How many blocks of a kernel run on one multiprocessor of an NVIDIA GPU at a time, and what limits their number.
 *
 * @see pycuda.tools.OccupancyRecord
 * @since 0.1.0
 */
import type * as Result from "effect/Result"
import { resultOf } from "../AnswerOrError.ts"
import { attempt } from "../arguments/ArgumentProblem.ts"
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import type { Multiprocessor } from "./ComputeCapability.ts"
import type { DeviceData } from "./DeviceData.ts"

/**
 * What one block of a kernel takes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Workload {
  /** Threads of a block. */
  readonly threads: number
  /** Bytes of shared memory of a block, 0 without it. */
  readonly sharedMemory?: number | undefined
  /** Registers of 32 bits of a thread, 0 without it: then they are no limit. */
  readonly registers?: number | undefined
}

/**
 * What limits the number of blocks: the device's limit on blocks, registers, shared memory, or warps.
 *
 * @category models
 * @since 0.1.0
 */
export type LimitedBy = "device" | "regs" | "smem" | "warps"

/**
 * The occupancy of one multiprocessor.
 *
 * @category models
 * @since 0.1.0
 */
export interface OccupancyRecord {
  /** Blocks that run at a time. */
  readonly threadBlocksPerMultiprocessor: number
  /** The limit that is reached; of several, the first by name. */
  readonly limitedBy: LimitedBy
  /** Warps that run at a time. */
  readonly warpsPerMultiprocessor: number
  /** Those warps as a share of all that could, from 0 to 1. */
  readonly occupancy: number
}

const roundUp = (value: number, unit: number): number => Math.ceil(value / unit) * unit

/** A workload whose numbers are counts. */
const checked = (
  operation: string,
  { registers = 0, sharedMemory = 0, threads }: Workload
): { readonly [K in keyof Workload]-?: number } => {
  const wrong = !Number.isSafeInteger(threads) || threads < 1
    ? `${formatted(threads)} threads are no block`
    : !Number.isSafeInteger(sharedMemory) || sharedMemory < 0
    ? `${formatted(sharedMemory)} is no number of bytes`
    : !Number.isSafeInteger(registers) || registers < 0
    ? `${formatted(registers)} is no number of registers`
    : undefined
  if (wrong !== undefined) throw invalidRequest(operation, wrong, "Pass whole numbers, one thread at least.")
  return { registers, sharedMemory, threads }
}

const demandAtMost = (operation: string, what: string, wanted: number, most: number): void => {
  if (wanted <= most) return
  throw invalidRequest(
    operation,
    `a block that takes ${wanted} ${what} does not run where ${most} are the most`,
    "Use smaller blocks, or less in each."
  )
}

type Limit = readonly [blocks: number, by: LimitedBy]

const record = (limits: ReadonlyArray<Limit>, warpsPerBlock: number, warps: number): OccupancyRecord => {
  const [threadBlocksPerMultiprocessor, limitedBy] = limits.reduce((least, limit) =>
    limit[0] < least[0] || (limit[0] === least[0] && limit[1] < least[1]) ? limit : least
  )
  const warpsPerMultiprocessor = threadBlocksPerMultiprocessor * warpsPerBlock
  return {
    threadBlocksPerMultiprocessor,
    limitedBy,
    warpsPerMultiprocessor,
    occupancy: warpsPerMultiprocessor / warps
  }
}

/**
 * The occupancy by NVIDIA's own rules: registers go to warps in units and sub-partition by sub-partition, shared memory
 * to blocks in units with what the driver keeps for itself. It assumes that the multiprocessor is configured for the
 * most shared memory. InvalidRequest for a block that cannot run at all.
 *
 * **Example** (256 threads with 40 registers and 16 KiB on an A100)
 *
 * ```ts
 * import { Result } from "effect"
 * import { ComputeCapability, Occupancy } from "effect-gpu-pool/devices"
 *
 * const found = ComputeCapability.multiprocessor({ major: 8, minor: 0 }).pipe(
 *   Result.flatMap((a100) => Occupancy.make(a100, { threads: 256, registers: 40, sharedMemory: 16384 })),
 *   Result.map(({ limitedBy, occupancy }) => [limitedBy, occupancy])
 * )
 * Result.getOrThrow(found) // => ["regs", 0.75]
 * ```
 *
 * @see `cudaOccMaxActiveBlocksPerMultiprocessor` in `cuda_occupancy.h` of the CUDA toolkit
 * @category constructors
 * @since 0.1.0
 */
export const make = (multiprocessor: Multiprocessor, workload: Workload): Result.Result<OccupancyRecord, GpuError> =>
  resultOf(attempt(() => {
    const { registers, sharedMemory, threads } = checked(operation, workload)
    demandAtMost(operation, "threads", threads, multiprocessor.maxThreadsPerBlock)
    const { blocks, warpSize, warps } = multiprocessor
    const warpsPerBlock = Math.ceil(threads / warpSize)
    return record(
      [
        [blocks, "device"],
        [Math.floor(warps / warpsPerBlock), "warps"],
        [blocksByRegisters(multiprocessor, registers, warpsPerBlock), "regs"],
        [blocksBySharedMemory(multiprocessor, sharedMemory), "smem"]
      ],
      warpsPerBlock,
      warps
    )
  }))

const operation = "Occupancy.make"

const blocksByRegisters = (multiprocessor: Multiprocessor, registers: number, warpsPerBlock: number): number => {
  if (registers === 0) return Infinity
  const { registersPerBlock, registersPerThread, registerUnit, subPartitions, warpSize } = multiprocessor
  demandAtMost(operation, "registers per thread", registers, registersPerThread)
  const perWarp = roundUp(registers * warpSize, registerUnit)
  // The hardware checks a block as if its warps were spread evenly over the sub-partitions.
  demandAtMost(operation, "registers", perWarp * roundUp(warpsPerBlock, subPartitions), registersPerBlock)
  const warpsPerPartition = Math.floor(multiprocessor.registers / subPartitions / perWarp)
  return Math.floor(warpsPerPartition * subPartitions / warpsPerBlock)
}

const blocksBySharedMemory = (multiprocessor: Multiprocessor, sharedMemory: number): number => {
  const { reservedSharedMemoryBytes, sharedMemoryBytes, sharedMemoryBytesPerBlock, sharedMemoryUnit } = multiprocessor
  demandAtMost(operation, "bytes of shared memory", sharedMemory, sharedMemoryBytesPerBlock)
  const perBlock = roundUp(sharedMemory + reservedSharedMemoryBytes, sharedMemoryUnit)
  return perBlock === 0 ? Infinity : Math.floor(sharedMemoryBytes / perBlock)
}

/**
 * PyCUDA's formula to the letter, for comparing figures with it: it knows no device after 2013, and no more than 8 blocks
 * per multiprocessor.
 *
 * **Example** (The same block in PyCUDA's eyes)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceData, Occupancy } from "effect-gpu-pool/devices"
 *
 * const device = DeviceData.make({
 *   computeCapability: { major: 8, minor: 0 },
 *   maxThreads: 1024,
 *   warpSize: 32,
 *   registers: 65536,
 *   sharedMemory: 49152
 * })
 * const found = Occupancy.pycuda(device, { threads: 256, registers: 40, sharedMemory: 16384 })
 * Result.map(found, ({ limitedBy, occupancy }) => [limitedBy, occupancy]) // => Result.succeed(["smem", 0.375])
 * ```
 *
 * @see pycuda.tools.OccupancyRecord
 * @category constructors
 * @since 0.1.0
 */
export const pycuda = (device: DeviceData, workload: Workload): Result.Result<OccupancyRecord, GpuError> =>
  resultOf(attempt(() => {
    const operation = "Occupancy.pycuda"
    const { registers, sharedMemory, threads } = checked(operation, workload)
    const warpsPerBlock = Math.ceil(threads / device.warpSize)
    const sharedPerBlock = roundUp(sharedMemory, device.sharedMemoryAllocationGranularity)
    const registersPerBlock = device.registerAllocationUnit === "warp"
      ? warpsPerBlock * 32 * registers
      : roundUp(2 * warpsPerBlock, 4) * 16 * registers
    demandAtMost(operation, "threads", threads, device.maxThreads)
    demandAtMost(operation, "registers", registersPerBlock, device.registers)
    demandAtMost(operation, "bytes of shared memory", sharedPerBlock, device.sharedMemory)
    const limits: ReadonlyArray<Limit> = [
      [device.threadBlocksPerMultiprocessor, "device"],
      [Math.floor(device.warpsPerMultiprocessor / warpsPerBlock), "warps"],
      ...(registers > 0 ? [[Math.floor(device.registers / registersPerBlock), "regs"] as const] : []),
      ...(sharedMemory > 0 ? [[Math.floor(device.sharedMemory / sharedPerBlock), "smem"] as const] : [])
    ]
    return record(limits, warpsPerBlock, device.warpsPerMultiprocessor)
  }))
