/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { LazyModule } from "../../../services/calls/LazyModule.ts"
import type { ImageDriver } from "../../../services/device/ImageDriver.ts"
import type { QueueDriver } from "../../../services/device/QueueDriver.ts"
import type { WebGpuImages } from "../images/WebGpuImages.ts"
import type { WebGpuDevice } from "../WebGpuDevice.ts"

export interface OpenedDevice {
  readonly device: WebGpuDevice
  readonly queue: QueueDriver["Service"]
  /** What {@link driver} loads. */
  readonly images: LazyModule<WebGpuImages>
  readonly driver: ImageDriver["Service"]
}
