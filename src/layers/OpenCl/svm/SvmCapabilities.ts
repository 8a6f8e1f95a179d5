/**
 * What a device can do with shared virtual memory.
 *
 * @since 0.1.0
 */
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"
import * as InfoQuery from "../InfoQuery.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import { versionNumber } from "../opening/OpenClDevices.ts"
import type { OpenClDevice } from "../opening/OpenClPlatform.ts"

/**
 * How host and device share an allocation: of coarse grain the host maps it first (`Mapping.map`), of fine grain both use it
 * at the same time (`Svm.view`).
 *
 * @category models
 * @since 0.1.0
 */
export type Grain = "coarse" | "fine"

/**
 * The kinds of shared virtual memory that a device has. All are `false` where it has none.
 *
 * @category models
 * @since 0.1.0
 */
export interface SvmCapabilities {
  readonly coarseGrain: boolean
  readonly fineGrain: boolean
  /** Kernels can use any memory of the process by its address. This library makes no use of that. */
  readonly fineGrainSystem: boolean
  /** Atomic operations work between host and device, on memory of fine grain. */
  readonly atomics: boolean
  /** The largest alignment that an allocation can ask for, in bytes: that of the device's largest type. */
  readonly maxAlignment: number
  /** Why there is none at all, or `undefined`. */
  readonly missing: string | undefined
}

const CL_DEVICE_SVM_CAPABILITIES = 0x1053

/** A long16, which the full profile always has. */
const largestType = 128

/** @internal */
export const capabilitiesOf = (api: OpenClApi, device: OpenClDevice): SvmCapabilities => {
  const bits = versionNumber(device) < 2 || api.loaderVersion < 2
    ? 0
    : InfoQuery.long(api.clGetDeviceInfo, device.id, CL_DEVICE_SVM_CAPABILITIES) ?? 0
  return {
    coarseGrain: (bits & 1) !== 0,
    fineGrain: (bits & 2) !== 0,
    fineGrainSystem: (bits & 4) !== 0,
    atomics: (bits & 8) !== 0,
    maxAlignment: device.isEmbedded && !device.extensions.includes("cles_khr_int64")
      ? largestType / 2
      : largestType,
    missing: bits !== 0
      ? undefined
      : versionNumber(device) < 2
      ? `${device.name} has ${device.version.trim()}, and shared virtual memory came with OpenCL 2.0`
      : api.loaderVersion < 2
      ? "the OpenCL loader has no functions of OpenCL 2.0"
      : `${device.name} reports no kind of it`
  }
}

/**
 * Why a device has none at all, or `undefined`.
 *
 * @internal
 */
export const missingProblem = (operation: string, { missing }: SvmCapabilities): GpuError | undefined =>
  missing === undefined ? undefined : unsupported(
    operation,
    "opencl",
    "shared virtual memory",
    `${missing}. Use BufferPool.layer, whose buffers run the same programs.`
  )
