/**
 * What the driver says of itself and its devices, and which of them a program can select.
 *
 * @since 0.1.0
 */
import { formatted } from "../../../domain/arguments/Format.ts"
import type { ImageLimits } from "../../../domain/device/DeviceInfo.ts"
import type { ProbedDevice } from "../../../domain/GpuError.ts"

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
  /** CL_DEVICE_MAX_WORK_ITEM_SIZES: the most work items of a workgroup in each dimension. */
  readonly maxWorkItemSizes: readonly [x: number, y: number, z: number]
  /** CL_DEVICE_LOCAL_MEM_SIZE in bytes. */
  readonly localMemoryBytes: number
  /** All arguments of one kernel together. */
  readonly maxParameterBytes: number
  /** CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes: a sub-region begins at a multiple of it. */
  readonly memoryAlignment: number
  /** Whether it has only the embedded profile, which leaves out 64-bit integers unless an extension brings them. */
  readonly isEmbedded: boolean
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

/**
 * A platform or device, by its index in the list or by a piece of its name in any case.
 *
 * @category models
 * @since 0.1.0
 */
export type Selector = number | string

/**
 * A device with its platform.
 *
 * @internal
 */
export interface Candidate {
  readonly platform: OpenClPlatform
  readonly device: OpenClDevice
}

/**
 * What a program asks for.
 *
 * @internal
 */
export interface Selection {
  readonly platform?: Selector | undefined
  readonly device?: Selector | undefined
}

/**
 * Whether a platform or device fits the selection.
 *
 * @internal
 */
export const matches = (
  selector: Selector | undefined,
  item: { readonly index: number; readonly name: string }
): boolean =>
  selector === undefined ||
  (typeof selector === "string"
    ? item.name.toLowerCase().includes(selector.toLowerCase())
    : item.index === selector)

const describe = (selector: Selector | undefined): string => selector === undefined ? "any" : formatted(selector)

/**
 * The devices to try, in the loader's order, and why each other one is left out.
 *
 * @internal
 */
export const select = (
  platforms: ReadonlyArray<OpenClPlatform>,
  selection: Selection
): { readonly candidates: ReadonlyArray<Candidate>; readonly tried: ReadonlyArray<ProbedDevice> } => {
  const candidates: Array<Candidate> = []
  const tried: Array<ProbedDevice> = []
  const leaveOut = (device: string, why: string) => tried.push({ backend: "opencl", device, why })
  for (const platform of platforms) {
    if (!matches(selection.platform, platform)) {
      leaveOut(nameOf(platform), `not the platform asked for, ${describe(selection.platform)}`)
    } else if (platform.devices.length === 0) {
      leaveOut(nameOf(platform), "the platform has no device")
    } else {
      for (const device of platform.devices) {
        if (!matches(selection.device, device)) {
          leaveOut(nameOf(platform, device), `not the device asked for, ${describe(selection.device)}`)
        } else if (device.unusable === undefined) candidates.push({ platform, device })
        else leaveOut(nameOf(platform, device), device.unusable)
      }
    }
  }
  return { candidates, tried }
}

/**
 * A platform, or a device on its platform, as messages name it: with the indices that select it.
 *
 * @internal
 */
export const nameOf = (platform: OpenClPlatform, device?: OpenClDevice): string =>
  `platform ${platform.index} "${platform.name}"` +
  (device === undefined ? "" : `, device ${device.index} "${device.name}"`)
