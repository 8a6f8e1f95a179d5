/**
 * Opens a device of the list by the backend that listed it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { deviceUnavailable, type GpuError } from "../domain/GpuError.ts"
import type { ListedDevice } from "../domain/selection/ListedDevice.ts"
import type { OpenOptions } from "../services/backend/Backend.ts"
import type { Services } from "../services/backend/Device.ts"
import { Backends } from "./Backends.ts"

/**
 * A layer that opens the device with one of the program's backends; it fails where none has the device's backend name.
 *
 * @category functions
 * @since 0.1.0
 */
export const layerOf = (
  device: ListedDevice,
  { byteGranular, kernelCacheCapacity }: OpenOptions
): Effect.Effect<Layer.Layer<Services, GpuError>> =>
  Effect.map(Backends, (backends) => {
    const backend = backends.find(({ name }) => name === device.backend)
    const hint = `There is no backend ${device.backend} in this process.`
    return backend === undefined
      ? Layer.effectContext(deviceUnavailable([], hint))
      : backend.open(device, { byteGranular, kernelCacheCapacity })
  })
