/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { LoadedPart } from "../../../services/calls/LoadedPart.ts"
import type { ImageDriver } from "../../../services/device/ImageDriver.ts"
import type { QueueDriver } from "../../../services/device/QueueDriver.ts"
import type { WebGpuImages } from "../images/WebGpuImages.ts"
import type { WebGpuDevice } from "../WebGpuDevice.ts"

export interface Opened {
  readonly device: WebGpuDevice
  readonly queue: QueueDriver["Service"]
  /** What {@link driver} loads. */
  readonly images: LoadedPart<WebGpuImages>
  readonly driver: ImageDriver["Service"]
}
