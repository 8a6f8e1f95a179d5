/**
 * What an operation on images takes: a lease, or a device image without a pool.
 *
 * @since 0.1.0
 */
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, released } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import { detachedProblem } from "../device/DetachedMemory.ts"
import { DeviceImage } from "../device/DeviceImage.ts"
import * as DriverObject from "../device/DriverObject.ts"
import { PooledImage } from "./PooledImage.ts"

/**
 * A lease or a device image.
 *
 * **Example** (A step that works with and without a pool)
 *
 * ```ts
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const pixels = (image: ImageLike.ImageLike) => Images.read(image)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ImageLike = PooledImage | DeviceImage

/**
 * Whether a value is a lease on an image, or a device image.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isImageLike = (value: unknown): value is ImageLike =>
  value instanceof PooledImage || value instanceof DeviceImage

/**
 * Why `image` cannot be used on the device `owner`, or `undefined`: Released, or ForeignDevice.
 *
 * **Example** (The raw handles of a backend of your own)
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { GpuError } from "effect-gpu-pool"
 * import type { DeviceImage, DeviceInfo } from "effect-gpu-pool/backend"
 * import { ImageLike } from "effect-gpu-pool/images"
 *
 * const rawImage = (image: ImageLike.ImageLike, info: DeviceInfo.DeviceInfo) =>
 *   Effect.suspend((): Exit.Exit<DeviceImage.DeviceImage, GpuError.GpuError> => {
 *     const problem = ImageLike.problem("MyBackend.image", image, info)
 *     return problem === undefined ? Exit.succeed(ImageLike.deviceImage(image)) : Exit.fail(problem)
 *   })
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const problem = (operation: string, image: ImageLike, owner: DeviceInfo): GpuError | undefined => {
  if (image instanceof DeviceImage) {
    return DriverObject.problem(operation, image, owner, ImageFormat.imageBytes(image.format, image.shape)) ??
      detachedProblem(operation, "image", image.pinned) ??
      detachedProblem(operation, "buffer", image.beneath?.root.pinned)
  }
  if (image.list === undefined) return released(operation, image)
  const { deviceInfo: device } = image.list.owner
  return device === owner ? undefined : DriverObject.foreign(operation, image, device, owner)
}

/**
 * The device image of an image that has no {@link problem}.
 *
 * **Example** (The usage that the image itself has)
 *
 * ```ts
 * import { ImageLike } from "effect-gpu-pool/images"
 *
 * const usage = (image: ImageLike.ImageLike) => ImageLike.deviceImage(image).usage
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const deviceImage = (image: ImageLike): DeviceImage => image instanceof DeviceImage ? image : image.block!.value
