/**
 * What can be observed, as types of its own: the objects of any browser and of npm `webgpu`, under any declarations of WebGPU.
 *
 * @since 0.1.0
 */

/**
 * A buffer or a texture of a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceObject {
  label: string
  destroy(): void
}

/**
 * A GPUDevice.
 *
 * @category models
 * @since 0.1.0
 */
export interface Device {
  label: string
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>
  readonly adapterInfo?:
    | { readonly device?: string; readonly description?: string; readonly vendor?: string }
    | undefined
  createBuffer(descriptor: never): DeviceObject
  createTexture(descriptor: never): DeviceObject
  destroy(): void
}

/**
 * A GPUAdapter: each device that it gives from now on is observed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Adapter {
  requestDevice(descriptor?: never): Promise<Device>
}

/**
 * The object at `navigator.gpu`: each device of each adapter that it gives from now on is observed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Gpu {
  requestAdapter(options?: never): Promise<Adapter | null>
}

/**
 * The class of devices, as `globalThis` of a page has it and `globals` of npm `webgpu`: every device is observed, also those
 * that exist already.
 *
 * @category models
 * @since 0.1.0
 */
export interface Classes {
  readonly GPUDevice: { readonly prototype: object }
}

/**
 * What `observe` takes.
 *
 * @category models
 * @since 0.1.0
 */
export type Target = Device | Adapter | Gpu | Classes
