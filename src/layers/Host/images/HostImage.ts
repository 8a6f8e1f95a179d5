/**
 * Images and samplers in process memory.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/DeviceInfo.ts"
import type { ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../../domain/images/ImageShape.ts"
import type { ImageUsage } from "../../../domain/images/ImageUsage.ts"
import { DeviceImage } from "../../../services/images/DeviceImage.ts"
import { DeviceSampler } from "../../../services/images/DeviceSampler.ts"
import type { HostBuffer } from "../HostMemory.ts"

/**
 * An image of the host backend: its elements lie packed in a buffer of its own, so that all that is done with it is done
 * with rectangles of that buffer.
 *
 * @internal
 */
export class HostImage extends DeviceImage {
  readonly buffer: HostBuffer

  constructor(
    owner: DeviceInfo,
    shape: ImageShape,
    format: ImageFormat,
    usage: ImageUsage,
    label: string | undefined,
    buffer: HostBuffer
  ) {
    super(owner, shape, format, usage, label)
    this.buffer = buffer
  }
}

/**
 * A sampler of the host backend: its options say everything.
 *
 * @internal
 */
export class HostSampler extends DeviceSampler {}
