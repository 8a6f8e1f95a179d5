/**
 * The colours that OpenCL fills images with.
 *
 * @internal
 */
import * as ImageChannel from "../../../domain/images/ImageChannel.ts"
import * as ImageElement from "../../../domain/images/ImageElement.ts"
import type * as ImageFormat from "../../../domain/images/ImageFormat.ts"

/**
 * The share of a step that is added to a normalised value, so that drivers that round and drivers that cut off agree.
 */
const quarter = 0.25

/** Orders whose colour the driver takes as red, green, blue and alpha, without a curve. */
const plainOrders: ReadonlySet<ImageFormat.ChannelOrder> = new Set([
  "r",
  "a",
  "rg",
  "ra",
  "rgba",
  "bgra",
  "argb",
  "abgr"
])

/** The colour of which clEnqueueFillImage makes exactly that element, or `undefined` where no colour is sure to. */
export const fillColor = (
  format: ImageFormat.ImageFormat,
  element: Uint8Array<ArrayBuffer>
): ArrayBufferView<ArrayBuffer> | undefined => {
  if (!plainOrders.has(format.order)) return undefined
  const rgba = ImageElement.toRgbaUnsafe(format, ImageElement.decodeUnsafe(format, element))
  switch (ImageChannel.of(format)) {
    case "int":
      return Int32Array.from(rgba)
    case "uint":
      return Uint32Array.from(rgba)
    case "float": {
      const steps = stepsOf[format.type]
      return Float32Array.from(steps === undefined ? rgba : rgba.map((value) => offStep(value, steps)))
    }
  }
}

const stepsOf: { readonly [T in ImageFormat.ChannelType]?: number } = {
  unorm8: 2 ** 8 - 1,
  unorm16: 2 ** 16 - 1,
  snorm8: 2 ** 7 - 1,
  snorm16: 2 ** 15 - 1
}

/** PoCL 3.1 cuts a normalised value off instead of rounding it: 0.25 of 255 becomes 63. */
const offStep = (value: number, steps: number): number =>
  Math.max(-1, Math.min(1, value + Math.sign(value) * (quarter / steps)))
