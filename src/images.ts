/**
 * Images on a device: memory that kernels read by coordinates, in formats that they convert from and to.
 *
 * @since 0.1.0
 */

/**
 * Image data in typed arrays of the host.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageArray from "./domain/images/ImageArray.ts"

/**
 * What kind of number a channel of an image is in a kernel.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageChannel from "./domain/images/ImageChannel.ts"

/**
 * The values of an element's channels, and its bytes.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageElement from "./domain/images/ImageElement.ts"

/**
 * What one element of an image is.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageFormat from "./domain/images/ImageFormat.ts"

/**
 * The dimensions of an image, and parts of it.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageShape from "./domain/images/ImageShape.ts"

/**
 * What an image may be used for, as flags.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageUsage from "./domain/images/ImageUsage.ts"

/**
 * Images as a host kernel sees them.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as KernelImage from "./domain/images/KernelImage.ts"

/**
 * How a kernel reads an image between and beyond its elements.
 *
 * @category images
 * @since 0.1.0
 */
export * as SamplerOptions from "./domain/images/SamplerOptions.ts"

/**
 * What operations on images take: a lease, or an image without a pool.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImageLike from "./services/images/ImageLike.ts"

/**
 * The image pool: layers, leases, statistics.
 *
 * @category images
 * @since 0.1.0
 */
export * as ImagePool from "./services/images/ImagePool.ts"

/**
 * Images on one device: writes, reads, fills, copies, mappings, samplers.
 *
 * @category images
 * @since 0.1.0
 */
export * as Images from "./services/images/Images.ts"

/**
 * A part of an image as a typed array, for as long as a scope is open.
 *
 * @category images
 * @since 0.1.0
 */
export * as MappedImage from "./services/images/MappedImage.ts"

/**
 * The lease on an image, and how to end or move it.
 *
 * @category images
 * @since 0.1.0
 */
export * as PooledImage from "./services/images/PooledImage.ts"
