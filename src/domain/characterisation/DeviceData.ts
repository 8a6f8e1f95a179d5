/**
 * The figures of PyCUDA's `DeviceData` for an NVIDIA device: the compatibility mode of occupancy. Its rules end with
 * devices of 2013. It is kept so that programs can compare figures with PyCUDA; `ComputeCapability.multiprocessor` has
 * the right ones.
 *
 * @see pycuda.tools.DeviceData
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { type ComputeCapability, isAtLeast } from "./ComputeCapability.ts"

/**
 * What the driver reports of a device: the inputs of the formula. `sharedMemory` is bytes per block, `registers` those
 * of 32 bits per block.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceAttributes {
  readonly computeCapability: ComputeCapability
  readonly maxThreads: number
  readonly warpSize: number
  readonly registers: number
  readonly sharedMemory: number
}

/**
 * The device as PyCUDA sees it. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceData extends DeviceAttributes {
  readonly warpsPerMultiprocessor: number
  readonly threadBlocksPerMultiprocessor: number
  /** Threads that access shared memory at the same time. */
  readonly sharedMemoryGranularity: number
  /** The smallest shared memory that a block can have. */
  readonly sharedMemoryAllocationGranularity: number
  /** Whether registers are handed out to warps or to blocks. */
  readonly registerAllocationUnit: "warp" | "block"
}

const from = (major: number, minor: number) => ({ major, minor })

/**
 * PyCUDA's figures for a device.
 *
 * **Example** (A device of 2010)
 *
 * ```ts
 * import { DeviceData } from "effect-gpu-pool/devices"
 *
 * const fermi = DeviceData.make({
 *   computeCapability: { major: 2, minor: 0 },
 *   maxThreads: 1024,
 *   warpSize: 32,
 *   registers: 32768,
 *   sharedMemory: 49152
 * })
 * fermi.warpsPerMultiprocessor // => 48
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (attributes: DeviceAttributes): DeviceData => {
  const { computeCapability } = attributes
  const isFermi = isAtLeast(computeCapability, from(2, 0))
  return {
    ...attributes,
    warpsPerMultiprocessor: isAtLeast(computeCapability, from(3, 0))
      ? 64
      : isFermi
      ? 48
      : isAtLeast(computeCapability, from(1, 2))
      ? 32
      : 24,
    threadBlocksPerMultiprocessor: 8,
    sharedMemoryGranularity: isFermi ? 32 : 16,
    sharedMemoryAllocationGranularity: isFermi ? 128 : 512,
    registerAllocationUnit: isFermi ? "warp" : "block"
  }
}

/**
 * The distance in bytes at which global memory must begin so that accesses of words of 4, 8 or 16 bytes coalesce;
 * InvalidRequest for other words. Words have 4 bytes by default.
 *
 * **Example** (Words of 4 and of 8 bytes)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceData } from "effect-gpu-pool/devices"
 *
 * Result.getOrThrow(DeviceData.alignBytes()) // => 64
 * Result.getOrThrow(DeviceData.alignBytes(8)) // => 128
 * ```
 *
 * @see pycuda.tools.DeviceData.align_bytes
 * @category layout
 * @since 0.1.0
 */
export const alignBytes = (wordSize = 4): Result.Result<number, GpuError> => {
  if (wordSize === 4) return Result.succeed(64)
  if (wordSize === 8 || wordSize === 16) return Result.succeed(128)
  return Result.fail(invalidRequest(
    "DeviceData.alignBytes",
    `a word of ${formatted(wordSize)} bytes does not coalesce`,
    "Use 4, 8 or 16."
  ))
}

const roundUp = (operation: string, count: number, of: string, unit: number): Result.Result<number, GpuError> =>
  Number.isSafeInteger(count) && count >= 0
    ? Result.succeed(Math.ceil(count / unit) * unit)
    : Result.fail(
      invalidRequest(operation, `${formatted(count)} is no number of ${of}`, "Pass a whole number, zero or more.")
    )

/**
 * Bytes rounded up to the next boundary of {@link alignBytes}. Words have 4 bytes by default.
 *
 * **Example** (A row of 100 bytes)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceData } from "effect-gpu-pool/devices"
 *
 * Result.getOrThrow(DeviceData.align(100, 4)) // => 128
 * ```
 *
 * @see pycuda.tools.DeviceData.align
 * @category layout
 * @since 0.1.0
 */
export const align = (bytes: number, wordSize = 4): Result.Result<number, GpuError> =>
  Result.flatMap(alignBytes(wordSize), (unit) => roundUp("DeviceData.align", bytes, "bytes", unit))

/**
 * The boundary of {@link alignBytes} in words.
 *
 * **Example** (Words of 8 bytes)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceData } from "effect-gpu-pool/devices"
 *
 * Result.getOrThrow(DeviceData.alignWords(8)) // => 16
 * ```
 *
 * @see pycuda.tools.DeviceData.align_words
 * @category layout
 * @since 0.1.0
 */
export const alignWords = (wordSize: number): Result.Result<number, GpuError> =>
  Result.map(alignBytes(wordSize), (unit) => unit / wordSize)

/**
 * Elements rounded up so that their bytes end on a boundary of {@link alignBytes}.
 *
 * **Example** (A row of 100 single-precision numbers)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceData } from "effect-gpu-pool/devices"
 *
 * Result.getOrThrow(DeviceData.alignElements(100, 4)) // => 112
 * ```
 *
 * @see pycuda.tools.DeviceData.align_dtype
 * @category layout
 * @since 0.1.0
 */
export const alignElements = (elements: number, elementBytes: number): Result.Result<number, GpuError> =>
  Result.flatMap(
    alignWords(elementBytes),
    (unit) => roundUp("DeviceData.alignElements", elements, "elements", unit)
  )

/**
 * The next channel count that a texture can have: 1, 2 or 4; InvalidRequest for others.
 *
 * **Example** (Three channels take the room of four)
 *
 * ```ts
 * import { Result } from "effect"
 * import { DeviceData } from "effect-gpu-pool/devices"
 *
 * Result.getOrThrow(DeviceData.validTextureChannelCount(3)) // => 4
 * ```
 *
 * @see pycuda.tools.DeviceData.make_valid_tex_channel_count
 * @category layout
 * @since 0.1.0
 */
export const validTextureChannelCount = (channels: number): Result.Result<1 | 2 | 4, GpuError> => {
  switch (channels) {
    case 1:
    case 2:
    case 4:
      return Result.succeed(channels)
    case 3:
      return Result.succeed(4)
    default:
      return Result.fail(invalidRequest(
        "DeviceData.validTextureChannelCount",
        `a texture has no ${formatted(channels)} channels`,
        "Use 1 to 4."
      ))
  }
}
