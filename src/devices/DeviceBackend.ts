/**
 * What the choice of a device needs of a backend.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { GpuError } from "../domain/GpuError.ts"
import type { Backend, ListedDevice } from "../domain/selection/ListedDevice.ts"
import type { Services } from "../services/Device.ts"
import { hostBackend } from "./HostBackend.ts"
import { openClBackend } from "./OpenClBackend.ts"
import { webGpuBackend } from "./WebGpuBackend.ts"

/**
 * What every backend takes when a device is opened.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenOptions {
  /** How many compiled kernels are kept, 256 without it. */
  readonly kernelCacheCapacity?: number | undefined
  /**
   * Whether commands on buffers begin and end at any byte, as `DeviceInfo.limits.copyAlignment` then says. WebGPU answers
   * Unsupported.
   */
  readonly byteGranular?: boolean | undefined
}

/** @internal */
export interface DeviceBackend {
  readonly name: Backend
  /** Its devices, and what it has in their place. Fails when the backend cannot be loaded. */
  readonly list: Effect.Effect<ReadonlyArray<ListedDevice>, GpuError>
  /** A layer that opens this very device, or fails. */
  readonly open: (device: ListedDevice, options: OpenOptions) => Layer.Layer<Services, GpuError>
}

/**
 * The backends of this process; tests put others in their place.
 *
 * @internal
 */
export const DeviceBackends: Context.Reference<ReadonlyArray<DeviceBackend>> = Context.Reference(
  "effect-gpu-pool/devices/DeviceBackends",
  { defaultValue: (): ReadonlyArray<DeviceBackend> => [webGpuBackend, openClBackend, hostBackend] }
)
