/**
 * The commands on the images of one device. For an image over a buffer every command but kernels and fills uses the
 * buffer: a driver with such images in kernels need not be able to copy them, and PoCL 3.1 ends the process when it
 * copies one.
 *
 * @internal
 */
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import { bytesBeneath } from "./ImageAccess.ts"

type Commands = Pick<
  ImageDriver["Service"],
  "writeUnsafe" | "readUnsafe" | "copyUnsafe" | "toBufferUnsafe" | "fromBufferUnsafe"
>

export class ImageCommands implements Commands {
  readonly #images: ImageDriver["Service"]
  readonly #queue: QueueDriver["Service"]

  constructor(images: ImageDriver["Service"], queue: QueueDriver["Service"]) {
    this.#images = images
    this.#queue = queue
  }

  readonly writeUnsafe: Commands["writeUnsafe"] = (target, region, data) =>
    target.beneath === undefined
      ? this.#images.writeUnsafe(target, region, data)
      : this.#queue.writeUnsafe(target.beneath, offsetOf(target, region), data)

  readonly readUnsafe: Commands["readUnsafe"] = (source, region, answer) => {
    if (source.beneath === undefined) return this.#images.readUnsafe(source, region, answer)
    const { bytes, offset } = bytesBeneath(source, region)
    return this.#queue.readUnsafe(source.beneath, offset, bytes, answer)
  }

  readonly copyUnsafe: Commands["copyUnsafe"] = (source, target, targetOrigin, region) => {
    const part = { origin: targetOrigin, extent: region.extent }
    if (target.beneath !== undefined) return this.toBufferUnsafe(source, region, target.beneath, offsetOf(target, part))
    if (source.beneath !== undefined) {
      return this.fromBufferUnsafe(source.beneath, offsetOf(source, region), target, part)
    }
    return this.#images.copyUnsafe(source, target, targetOrigin, region)
  }

  readonly toBufferUnsafe: Commands["toBufferUnsafe"] = (source, region, target, at) => {
    if (source.beneath === undefined) return this.#images.toBufferUnsafe(source, region, target, at)
    const { bytes, offset } = bytesBeneath(source, region)
    return this.#queue.copyUnsafe(source.beneath, offset, target, at, bytes)
  }

  readonly fromBufferUnsafe: Commands["fromBufferUnsafe"] = (source, at, target, region) => {
    if (target.beneath === undefined) return this.#images.fromBufferUnsafe(source, at, target, region)
    const { bytes, offset } = bytesBeneath(target, region)
    return this.#queue.copyUnsafe(source, at, target.beneath, offset, bytes)
  }
}

const offsetOf = (image: DeviceImage, region: ImageRegion): number => bytesBeneath(image, region).offset
