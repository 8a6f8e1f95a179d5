/**
 * The values of an element's channels, and the bytes that they are stored as: what a kernel's read and write convert.
 *
 * @since 0.1.0
 */
import { formatted } from "../arguments/Format.ts"
import { type ChannelValues, decodeFrom, demandCount, encodeInto, type Rgba } from "./ImageBytes.ts"
import * as Format from "./ImageFormat.ts"
import type { ImageFormat } from "./ImageFormat.ts"

export type { ChannelValues, Rgba } from "./ImageBytes.ts"

/**
 * The bytes of an element, little-endian. Values out of a channel's range are clamped; ties round to even. Throws a
 * RangeError unless there is one value for each channel.
 *
 * **Example** (Orange in two bytes)
 *
 * ```ts
 * import { ImageElement, ImageFormat } from "effect-gpu-pool/images"
 *
 * const bytes = ImageElement.encodeUnsafe(ImageFormat.make("rgb", "unorm565"), [1, 0.5, 0])
 * Array.from(bytes) // => [0, 252]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const encodeUnsafe = (format: ImageFormat, values: ChannelValues): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(Format.elementBytes(format))
  demandCount("ImageElement.encodeUnsafe", values, Format.channelCount(format))
  encodeInto(format, values, new DataView(bytes.buffer), 0)
  return bytes
}

/**
 * The values that an element's bytes stand for. Throws a TypeError for fewer bytes than an element has.
 *
 * **Example** (A signed normalised byte)
 *
 * ```ts
 * import { ImageElement, ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageElement.decodeUnsafe(ImageFormat.make("rg", "snorm8"), Uint8Array.of(127, 129)) // => [1, -1]
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const decodeUnsafe = (format: ImageFormat, element: Uint8Array<ArrayBuffer>): ChannelValues => {
  const bytes = Format.elementBytes(format)
  if (element instanceof Uint8Array && element.byteLength >= bytes) {
    return decodeFrom(format, new DataView(element.buffer, element.byteOffset, element.byteLength), 0)
  }
  throw new TypeError(
    `ImageElement.decodeUnsafe: ${formatted(element)} was given for the element. Pass a Uint8Array of ${bytes} bytes.`
  )
}

/**
 * The four values that a kernel gets for an element: colours that the format lacks are 0, alpha is 1; intensity is all
 * four, luminance all three colours. Throws a RangeError unless there is one value for each channel.
 *
 * @category functions
 * @since 0.1.0
 */
export const toRgbaUnsafe = (format: ImageFormat, values: ChannelValues): Rgba => {
  const channels = Format.channels(format)
  demandCount("ImageElement.toRgbaUnsafe", values, channels.length)
  if (format.order === "rgba") return [values[0]!, values[1]!, values[2]!, values[3]!]
  const [first] = values
  if (format.order === "intensity") return [first!, first!, first!, first!]
  if (format.order === "luminance") return [first!, first!, first!, 1]
  if (format.order === "depth") return [first!, 0, 0, 1]
  const of = (channel: "r" | "g" | "b" | "a", otherwise: number) => values[channels.indexOf(channel)] ?? otherwise
  return [of("r", 0), of("g", 0), of("b", 0), of("a", 1)]
}

/**
 * The four values that a kernel reads outside an image with the addressing `"clampToBorder"`: all are 0, except that alpha is 1 where the
 * format has no alpha and none of the orders that end in x.
 *
 * **Example** (With and without x)
 *
 * ```ts
 * import { ImageElement, ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageElement.border(ImageFormat.make("rg", "unorm8")) // => [0, 0, 0, 1]
 * ImageElement.border(ImageFormat.make("rgx", "unorm8")) // => [0, 0, 0, 0]
 * ```
 *
 * @category functions
 * @since 0.1.0
 */
export const border = (format: Format.ImageFormat): Rgba =>
  format.order.endsWith("x") ? [0, 0, 0, 0] : toRgbaUnsafe(format, Format.channels(format).map(() => 0))
