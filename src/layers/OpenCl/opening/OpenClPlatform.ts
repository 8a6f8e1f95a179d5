/**
 * What the driver says of itself and its devices.
 *
 * @since 0.1.0
 */
import type { ImageLimits } from "../../../domain/device/DeviceInfo.ts"

/**
 * One device of a platform. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenClDevice {
  /** Its place in the platform's list. */
  readonly index: number
  /** CL_DEVICE_NAME. */
  readonly name: string
  /** CL_DEVICE_VENDOR. */
  readonly vendor: string
  readonly type: "cpu" | "gpu" | "accelerator" | "other"
  /** The OpenCL version that the device has, as `OpenCL 3.0 ...`. */
  readonly version: string
  /** The driver's own version, in whatever form. */
  readonly driverVersion: string
  /** All memory of the device: a pool's limit when it names none. */
  readonly globalMemoryBytes: number
  /** The largest single buffer. */
  readonly maxAllocationBytes: number
  /** Work items of the largest workgroup, in one dimension. */
  readonly maxWorkgroupSize: number
  /** All arguments of one kernel together. */
  readonly maxParameterBytes: number
  /** CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes: a sub-region begins at a multiple of it. */
  readonly memoryAlignment: number
  /** How many images and samplers one kernel can take, or nothing where it has no images. */
  readonly images?: ImageLimits | undefined
  /** As `cl_khr_fp64`. */
  readonly extensions: ReadonlyArray<string>
  /** Why kernels cannot run on it, or `undefined`. */
  readonly unusable: string | undefined
  /** The cl_device_id. */
  readonly id: bigint
}

/**
 * One platform: a vendor's driver. Some have no device on this machine.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenClPlatform {
  /** Its place in the loader's list. */
  readonly index: number
  readonly name: string
  readonly vendor: string
  readonly version: string
  readonly devices: ReadonlyArray<OpenClDevice>
  /** The cl_platform_id. */
  readonly id: bigint
}
