/**
 * What kind of number a channel of an image is in a kernel.
 *
 * @since 0.1.0
 */
import { type ChannelType, type ImageFormat, item } from "./ImageFormat.ts"

/**
 * Floats, also those of normalised formats, or whole numbers with or without a sign.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageChannel = "float" | "int" | "uint"

const channels: { readonly [T in ChannelType]: ImageChannel } = {
  unorm8: "float",
  unorm16: "float",
  snorm8: "float",
  snorm16: "float",
  unorm565: "float",
  unorm555: "float",
  unorm101010: "float",
  uint8: "uint",
  uint16: "uint",
  uint32: "uint",
  sint8: "int",
  sint16: "int",
  sint32: "int",
  float16: "float",
  float32: "float"
}

/**
 * What kernels read from images of a format, and write to them.
 *
 * @category functions
 * @since 0.1.0
 */
export const of = (format: ImageFormat): ImageChannel => {
  // throws for what is no format
  item(format)
  return channels[format.type]
}
