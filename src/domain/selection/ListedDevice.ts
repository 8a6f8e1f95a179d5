/**
 * A device of this machine as a listing tells it, before anything is opened.
 *
 * @since 0.1.0
 */
/**
 * The backends of this package, in the order in which listings have them.
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
  /** Who made it, as the driver says; may be empty. */
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
 * One device; or, where there is none, why not: a backend that cannot be loaded has no platform, and a driver without a
 * device is a platform without one.
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
  /** The driver and its version, as it says; empty where there is no device. */
  readonly driver: string
  /** All memory of the device, where the backend tells it. */
  readonly memoryBytes: number | undefined
  /** Why it cannot be opened, or `undefined` when nothing is known against it. */
  readonly unusable: string | undefined
}
