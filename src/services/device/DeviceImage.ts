/**
 * One image on a device. Only the backend that made it can look into it.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import type { MemorySpan } from "../../domain/data/MemorySpan.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import type * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import type { DeviceBuffer } from "./DeviceBuffer.ts"
import { DriverMemory } from "./DriverObject.ts"

/**
 * What an image is made as.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageDescription {
  readonly shape: ImageShape.ImageShape
  readonly format: ImageFormat.ImageFormat
  readonly usage: ImageUsage.ImageUsage
  /** Its name in errors. */
  readonly label: string | undefined
}

/**
 * An image as the driver gave it: around a GPUTexture, a cl_mem or an ArrayBuffer. Programs get it from `Images.make`,
 * and hold leases (`PooledImage`) of an `ImagePool`. Two of them are equal (`Equal.equals`) when they are the same driver
 * object, as one that was made and one that was adopted by its handle.
 *
 * **Example** (A map keyed by image)
 *
 * ```ts
 * import { MutableHashMap } from "effect"
 * import type { DeviceImage } from "effect-gpu-pool/backend"
 *
 * const titles = MutableHashMap.empty<DeviceImage.DeviceImage, string>()
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export abstract class DeviceImage extends DriverMemory {
  /** @internal */
  override readonly what = "image"
  readonly shape: ImageShape.ImageShape
  readonly format: ImageFormat.ImageFormat
  readonly usage: ImageUsage.ImageUsage

  /** The buffer whose memory it has, for an image over a buffer; for all others `undefined`. @internal */
  beneath: DeviceBuffer | undefined = undefined

  constructor(owner: DeviceInfo, { format, label, shape, usage }: ImageDescription) {
    super(owner, label)
    this.shape = shape
    this.format = format
    this.usage = usage
  }

  /** @internal */
  override get allocation(): object {
    return this.beneath === undefined ? this.identity : this.beneath.allocation
  }

  /** @internal */
  override get begin(): number {
    return this.beneath === undefined ? 0 : this.beneath.begin
  }

  /** @internal */
  override get end(): number {
    return this.begin + ImageFormat.imageBytes(this.format, this.shape)
  }

  /** @internal */
  override get wholeMemory(): MemorySpan {
    return this.beneath === undefined ? this : this.beneath.wholeMemory
  }

  /** @internal */
  override distrust(): void {
    super.distrust()
    this.beneath?.distrust()
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof DeviceImage && this.identity === that.identity
  }
}

showing<DeviceImage>(({ beneath, destroyed, ended, format, label, owner, pinned, shape, usage }) =>
  inOneLine("DeviceImage", label, [
    `${ImageShape.format(shape)} of ${ImageFormat.format(format)}`,
    `${ImageFormat.imageBytes(format, shape)} B`,
    ImageUsageRules.format(usage),
    beneath === undefined ? undefined : "over a buffer",
    pinned === undefined ? undefined : "in the program's memory",
    state(destroyed ? ended ?? "released" : undefined, owner)
  ])
)(DeviceImage.prototype)
