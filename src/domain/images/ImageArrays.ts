/**
 * Typed arrays for the elements of images.
 *
 * @internal
 */
import { formatted, withArticle } from "../arguments/Format.ts"
import * as DType from "../data/DType.ts"
import { isDetached } from "../data/HostData.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import type { ImageArray } from "./ImageArray.ts"
import { type ChannelType, type ImageFormat, item, type ItemType } from "./ImageFormat.ts"

/** An array class with its channel types. */
interface ImageArrayClass {
  readonly name: string
  readonly BYTES_PER_ELEMENT: number
}

const classes: {
  readonly [I in Exclude<ItemType, "f16">]: ImageArrayClass & (new(memory: ArrayBuffer) => ImageArray)
} = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  f32: Float32Array
}

/** The items of an array of the format's class. Those of halves have two bytes, whatever the class. */
export const classOf = (format: ImageFormat): ImageArrayClass => {
  const type = item(format)
  return type === "f16" ? { name: "Float16Array", BYTES_PER_ELEMENT: 2 } : classes[type]
}

/** A typed array over all of `memory`, with the items of the format. */
export const overUnsafe = (format: ImageFormat, memory: ArrayBuffer): ImageArray => {
  if (!(memory instanceof ArrayBuffer) || isDetached(memory)) {
    throw new TypeError(
      `ImageArray.overUnsafe: ${formatted(memory)} was given for the memory. Pass an ArrayBuffer that is not detached.`
    )
  }
  const type = item(format)
  if (type !== "f16") return new classes[type](memory)
  return DType.hostSupports("f16") ? DType.viewUnsafe("f16", memory, 0, memory.byteLength / 2) : new Uint16Array(memory)
}

/** The channel type for a class of array; with `normalized`, only for classes that can be normalised. */
const typeOf = (data: ImageArray, normalized: boolean): ChannelType | undefined => {
  if (data instanceof Uint8Array) return normalized ? "unorm8" : "uint8"
  if (data instanceof Int8Array) return normalized ? "snorm8" : "sint8"
  if (data instanceof Uint16Array) return normalized ? "unorm16" : "uint16"
  if (data instanceof Int16Array) return normalized ? "snorm16" : "sint16"
  if (normalized) return undefined
  if (data instanceof Uint32Array) return "uint32"
  if (data instanceof Int32Array) return "sint32"
  if (data instanceof Float32Array) return "float32"
  return Object.prototype.toString.call(data) === "[object Float16Array]" ? "float16" : undefined
}

const ordersByCount = [undefined, "r", "rg", undefined, "rgba"] as const

/**
 * The format of an image made from an array, or what is wrong with the array or the options.
 */
export const formatOf = (
  operation: string,
  data: ImageArray,
  channels: number,
  normalized: boolean
): ImageFormat | GpuError => {
  const order = ordersByCount[channels]
  if (order === undefined) {
    return invalidRequest(
      operation,
      `images of ${channels} channels cannot be made from an array`,
      channels === 3 ? "Add a fourth channel: devices have no format of three." : "Pass 1, 2 or 4 channels."
    )
  }
  const type = typeOf(data, normalized)
  if (type !== undefined) return { order, type }
  const name = Object.prototype.toString.call(data).slice("[object ".length, -1)
  return invalidRequest(
    operation,
    normalized
      ? `items of ${withArticle(name)} cannot be normalised`
      : `no image has the items of ${withArticle(name)}`,
    normalized
      ? "Only 8-bit and 16-bit integers can: leave out normalized, or pass such an array."
      : "Pass a typed array of integers up to 32 bits, halves or floats."
  )
}
