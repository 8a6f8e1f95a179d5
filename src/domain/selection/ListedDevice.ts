/**
 * A device of this machine as it is listed, before anything is opened.
 *
 * @since 0.1.0
 */
/**
 * The backends of this package, in the order of listings.
 *
 * **Example** (Asking each backend for something)
 *
 * ```ts
 * import { ListedDevice } from "effect-gpu-pool/devices"
 *
 * ListedDevice.backends // => ["webgpu", "opencl", "host"]
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const backends: ReadonlyArray<string> = ["webgpu", "opencl", "host"]

/**
 * A platform or a device, as its driver names it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Named {
  /** Its place in the list that it belongs to, from 0: a platform's in the backend, a device's on the platform. */
  readonly index: number
  readonly name: string
  /** The vendor, as the driver reports it; may be empty. */
  readonly vendor: string
}

/**
 * What kind of hardware a device is. A WebGPU adapter in software is a `cpu`, and so is the host.
 *
 * @category models
 * @since 0.1.0
 */
export type DeviceType = "gpu" | "cpu" | "accelerator" | "other"

/**
 * One device, or an entry that says why there is none: a backend that cannot be loaded has no platform, and a driver
 * without devices is a platform without a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListedDevice {
  /** As `DeviceInfo.backend`. */
  readonly backend: string
  /** OpenCL's platform, `Dawn` for WebGPU on Node, `JavaScript` for the host. */
  readonly platform: Named | undefined
  readonly device: Named | undefined
  /** `undefined` where there is no device. */
  readonly type: DeviceType | undefined
  /** The driver and its version, as it reports them; empty where there is no device. */
  readonly driver: string
  /** All memory of the device, where the backend reports it. */
  readonly memoryBytes: number | undefined
  /** Why it cannot be opened, or `undefined` when no reason is known. */
  readonly unusable: string | undefined
}
