/**
 * Images and samplers in process memory.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { elementBytes } from "../../../domain/images/ImageFormat.ts"
import { DeviceImage, type ImageDescription } from "../../../services/device/DeviceImage.ts"
import { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type { HostBuffer } from "../HostMemory.ts"

/**
 * An image of the host backend: its elements are in a buffer of its own, and every operation works on rectangles of
 * that buffer. Only the program's own memory has gaps between rows and slices.
 */
export class HostImage extends DeviceImage {
  readonly buffer: HostBuffer
  /** Bytes from a row to the next. */
  readonly rowPitch: number
  /** Bytes from a slice to the next. */
  readonly slicePitch: number

  constructor(
    owner: DeviceInfo,
    image: ImageDescription,
    buffer: HostBuffer,
    pitches?: { readonly rowPitch: number; readonly slicePitch: number }
  ) {
    super(owner, image)
    this.buffer = buffer
    this.rowPitch = pitches?.rowPitch ?? image.shape.width * elementBytes(image.format)
    this.slicePitch = pitches?.slicePitch ?? this.rowPitch * image.shape.height
  }

  override get identity(): object {
    return this.buffer.identity
  }
}

/** A sampler of the host backend: its options say everything. */
export class HostSampler extends DeviceSampler {}
