/**
 * What an image may be used for, as flags.
 *
 * @since 0.1.0
 */
/**
 * A set of flags: the sum of those below.
 *
 * **Example** (Images by what they are for)
 *
 * ```ts
 * import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
 *
 * const { copyDst, copySrc, sampled, storage } = ImageUsage
 * const square = ImageShape.image2d(64, 64)
 *
 * const texture = Images.make(square, ImageFormat.rgba8, { usage: sampled | copyDst })
 * const result = Images.make(square, ImageFormat.rgba8, { usage: storage | copySrc })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ImageUsage = number

/**
 * Kernels read it, by element or through a sampler.
 *
 * @category flags
 * @since 0.1.0
 */
export const sampled = 1

/**
 * Kernels write it.
 *
 * @category flags
 * @since 0.1.0
 */
export const storage = 2

/**
 * It can be read and copied from.
 *
 * @category flags
 * @since 0.1.0
 */
export const copySrc = 4

/**
 * It can be written, filled and copied to.
 *
 * @category flags
 * @since 0.1.0
 */
export const copyDst = 8

/**
 * The usage of an image that names none: everything but kernels' writes, which not every format allows.
 *
 * **Example** (The default, with kernels' writes)
 *
 * ```ts
 * import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
 *
 * const image = Images.make(ImageShape.image2d(64, 64), ImageFormat.rgba8, {
 *   usage: ImageUsage.defaultUsage | ImageUsage.storage
 * })
 * ```
 *
 * @category flags
 * @since 0.1.0
 */
export const defaultUsage: ImageUsage = sampled | copySrc | copyDst
