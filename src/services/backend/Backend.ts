/**
 * A backend as device selection sees it.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import type { DriverFacts } from "../../domain/device/DriverFacts.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { ListedDevice } from "../../domain/selection/ListedDevice.ts"
import type { Services } from "./Device.ts"

/**
 * What every backend takes when a device is opened.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenOptions extends Schema.Schema.Type<typeof OpenOptions> {}

/**
 * The schema of {@link OpenOptions}.
 *
 * @category models
 * @since 0.1.0
 */
export const OpenOptions = Schema.Struct({
  /** How many compiled kernels are kept, 256 without it. */
  kernelCacheCapacity: LayerOptions.kernelCacheCapacity,
  /**
   * Whether commands on buffers begin and end at any byte, as `DeviceInfo.limits.copyAlignment` then says. WebGPU answers
   * Unsupported.
   */
  byteGranular: LayerOptions.boolean
})

/**
 * How the devices of a backend are listed, chosen and opened.
 *
 * @category models
 * @since 0.1.0
 */
export interface Backend {
  /** As `DeviceInfo.backend`, and as selections name it: small letters and digits, beginning with a letter. */
  readonly name: string
  /** Its devices, and entries for those that cannot be opened. Fails when the backend cannot be loaded. */
  readonly list: Effect.Effect<ReadonlyArray<ListedDevice>, GpuError>
  /**
   * The order in which devices are tried when the program selects none: smallest number first. A device without a
   * number is never tried.
   */
  readonly rank: (device: ListedDevice) => number | undefined
  /** A layer that opens this very device, or fails. */
  readonly open: (device: ListedDevice, options: OpenOptions) => Layer.Layer<Services, GpuError>
  /**
   * What the driver reports beyond `DeviceInfo`, for people to read. It runs with everything that `open` provides. The
   * command `effect-gpu-pool devices --verbose` shows it.
   */
  readonly facts?: Effect.Effect<DriverFacts, GpuError, Services> | undefined
}
