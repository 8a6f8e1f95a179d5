/**
 * What kind of number a channel of an image is in a kernel.
 *
 * @since 0.1.0
 */
import type { ImageFormat } from "./ImageFormat.ts"

/**
 * Floats, also those of normalised formats, or whole numbers with or without a sign.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageChannel = "float" | "int" | "uint"

/**
 * What kernels read from images of a format, and write to them.
 *
 * @category functions
 * @since 0.1.0
 */
export const of = ({ type }: ImageFormat): ImageChannel =>
  type.startsWith("uint") ? "uint" : type.startsWith("sint") ? "int" : "float"
