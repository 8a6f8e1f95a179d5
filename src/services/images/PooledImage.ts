/**
 * The lease on an image: a program's right to use a pooled image.
 *
 * @since 0.1.0
 */
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import type * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import { type Block, Lease } from "../lease/Lease.ts"
import { LeaseHolder } from "../lease/LeaseHolder.ts"

/**
 * A lease on an image of an `ImagePool`. See `Lease` for how long it is valid, and for the operations on every lease.
 * Every operation of `Images` takes it.
 *
 * **Example** (Shape and bytes)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape, type PooledImage } from "effect-gpu-pool/images"
 *
 * const describe = (image: PooledImage.PooledImage) => `${image.shape.width} x ${image.shape.height}, ${image.size} bytes`
 * const shape = ImageShape.image2d(64, 64)
 * const text = ImagePool.use(shape, ImageFormat.rgba8, (image) => Effect.succeed(describe(image)))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class PooledImage extends Lease<DeviceImage> implements LeaseHolder {
  readonly shape: ImageShape.ImageShape
  readonly format: ImageFormat.ImageFormat
  /** The requested usage; a pool that clears adds `copyDst` to its images. */
  readonly usage: ImageUsage.ImageUsage

  /** @internal */
  constructor(
    block: Block<DeviceImage>,
    usage: ImageUsage.ImageUsage,
    label: string | undefined,
    sequence: number
  ) {
    super(block, block.capacity, label, sequence)
    this.shape = block.value.shape
    this.format = block.value.format
    this.usage = usage
  }

  override get what(): "image" {
    return "image"
  }

  [LeaseHolder](): Iterable<PooledImage> {
    return [this]
  }
}

showing<PooledImage>(({ ended, format, label, list, shape, size, usage }) =>
  inOneLine("PooledImage", label, [
    `${ImageShape.format(shape)} of ${ImageFormat.format(format)}`,
    `${size} B`,
    ImageUsageRules.format(usage),
    state(ended, list?.owner.deviceInfo)
  ])
)(PooledImage.prototype)
