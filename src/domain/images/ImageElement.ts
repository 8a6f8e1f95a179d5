/**
 * The values of an element's channels, and the bytes that they are stored as: what a kernel's read and write convert.
 *
 * @since 0.1.0
 */
import { demand } from "../arguments/Demand.ts"
import { shown } from "../arguments/ShownValue.ts"
import * as HalfFloat from "./HalfFloat.ts"
import type { ChannelType, ImageFormat } from "./ImageFormat.ts"
import * as Format from "./ImageFormat.ts"
import { roundHalfEven } from "./RoundHalfEven.ts"

/**
 * One value per channel, in the format's order: normalised and floating-point channels as numbers from 0 or -1 to 1 or
 * as they are, integers as themselves. Colours of the orders `srgb`, `srgba` and `sbgra` are linear here, as kernels
 * see them.
 *
 * @category models
 * @since 0.1.0
 */
export type ChannelValues = ReadonlyArray<number>

/**
 * Red, green, blue and alpha, as a kernel reads an element whatever its channels.
 *
 * @category models
 * @since 0.1.0
 */
export type Rgba = readonly [red: number, green: number, blue: number, alpha: number]

const clamped = (value: number, least: number, most: number): number =>
  value >= most ? most : value > least ? value : least

const signedRound = (value: number): number => value < 0 ? -roundHalfEven(-value) : roundHalfEven(value)

const unorm = (value: number, bits: number): number => roundHalfEven(clamped(value, 0, 1) * (2 ** bits - 1))

/** NaN is stored as 0, as in OpenCL's saturating conversions. */
const snorm = (value: number, bits: number): number =>
  Number.isNaN(value) ? 0 : signedRound(clamped(value, -1, 1) * (2 ** (bits - 1) - 1))

/** The lowest number stands for -1 too, so that 0 is a number of the scale. */
const fromSnorm = (stored: number, bits: number): number => Math.max(-1, stored / (2 ** (bits - 1) - 1))

const unsigned = (value: number, bits: number): number => signedRound(clamped(value, 0, 2 ** bits - 1))

const signed = (value: number, bits: number): number =>
  Number.isNaN(value) ? 0 : signedRound(clamped(value, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1))

/** Bits of each packed channel, from the highest place that is used. */
const packedBits: { readonly [T in ChannelType]?: readonly [number, number, number] } = {
  unorm565: [5, 6, 5],
  unorm555: [5, 5, 5],
  unorm101010: [10, 10, 10]
}

const store = (view: DataView, at: number, type: ChannelType, value: number): void => {
  switch (type) {
    case "unorm8":
      return view.setUint8(at, unorm(value, 8))
    case "unorm16":
      return view.setUint16(at, unorm(value, 16), true)
    case "snorm8":
      return view.setInt8(at, snorm(value, 8))
    case "snorm16":
      return view.setInt16(at, snorm(value, 16), true)
    case "uint8":
      return view.setUint8(at, unsigned(value, 8))
    case "uint16":
      return view.setUint16(at, unsigned(value, 16), true)
    case "uint32":
      return view.setUint32(at, unsigned(value, 32), true)
    case "sint8":
      return view.setInt8(at, signed(value, 8))
    case "sint16":
      return view.setInt16(at, signed(value, 16), true)
    case "sint32":
      return view.setInt32(at, signed(value, 32), true)
    case "float16":
      return view.setUint16(at, HalfFloat.toBits(value), true)
    default:
      return view.setFloat32(at, value, true)
  }
}

const load = (view: DataView, at: number, type: ChannelType): number => {
  switch (type) {
    case "unorm8":
      return view.getUint8(at) / 255
    case "unorm16":
      return view.getUint16(at, true) / 65535
    case "snorm8":
      return fromSnorm(view.getInt8(at), 8)
    case "snorm16":
      return fromSnorm(view.getInt16(at, true), 16)
    case "uint8":
      return view.getUint8(at)
    case "uint16":
      return view.getUint16(at, true)
    case "uint32":
      return view.getUint32(at, true)
    case "sint8":
      return view.getInt8(at)
    case "sint16":
      return view.getInt16(at, true)
    case "sint32":
      return view.getInt32(at, true)
    case "float16":
      return HalfFloat.fromBits(view.getUint16(at, true))
    default:
      return view.getFloat32(at, true)
  }
}

const pack = (values: ChannelValues, bits: ReadonlyArray<number>): number =>
  bits.reduce((packed, width, channel) => packed * 2 ** width + unorm(values[channel]!, width), 0)

const unpack = (packed: number, bits: ReadonlyArray<number>): ChannelValues => {
  const values = bits.map(() => 0)
  let rest = packed
  for (let channel = bits.length - 1; channel >= 0; channel--) {
    const steps = 2 ** bits[channel]!
    values[channel] = (rest % steps) / (steps - 1)
    rest = Math.floor(rest / steps)
  }
  return values
}

/** IEC 61966-2-1. */
const toSrgb = (linear: number): number => linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055

const fromSrgb = (stored: number): number => stored <= 0.04045 ? stored / 12.92 : ((stored + 0.055) / 1.055) ** 2.4

const isSrgb = (format: ImageFormat): boolean => format.order.startsWith("s")

/** Colours through `curve`, alpha as it is. */
const curved = (format: ImageFormat, values: ChannelValues, curve: (value: number) => number): ChannelValues =>
  isSrgb(format)
    ? Format.channels(format).map((channel, at) => channel === "a" ? values[at]! : curve(values[at]!))
    : values

/**
 * Stores an element at `at`, in bytes; each value is rounded to the nearest that the channel can store, ties to even.
 * `values` has one value per channel.
 *
 * @internal
 */
export const encodeInto = (format: ImageFormat, values: ChannelValues, view: DataView, at: number): void => {
  const stored = curved(format, values, (value) => toSrgb(clamped(value, 0, 1)))
  const bits = packedBits[format.type]
  if (bits !== undefined) {
    const packed = pack(stored, bits)
    if (Format.elementBytes(format) === 2) view.setUint16(at, packed, true)
    else view.setUint32(at, packed, true)
    return
  }
  const bytes = Format.channelBytes(format)
  for (let channel = 0; channel < stored.length; channel++) {
    store(view, at + channel * bytes, format.type, stored[channel]!)
  }
}

/** @internal */
export const decodeFrom = (format: ImageFormat, view: DataView, at: number): ChannelValues => {
  const bits = packedBits[format.type]
  if (bits !== undefined) {
    return unpack(Format.elementBytes(format) === 2 ? view.getUint16(at, true) : view.getUint32(at, true), bits)
  }
  const bytes = Format.channelBytes(format)
  const stored = Format.channels(format).map((_, channel) => load(view, at + channel * bytes, format.type))
  return curved(format, stored, fromSrgb)
}

/**
 * The bytes of an element, little-endian. Values beyond what a channel can hold become the nearest that it can; half of
 * a step rounds to even. Throws a RangeError unless there is one value for each channel.
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
  demandValues("ImageElement.encodeUnsafe", values, Format.channelCount(format))
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
    `ImageElement.decodeUnsafe: ${shown(element)} was given for the element. Pass a Uint8Array of ${bytes} bytes.`
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
  demandValues("ImageElement.toRgbaUnsafe", values, channels.length)
  if (format.order === "rgba") return [values[0]!, values[1]!, values[2]!, values[3]!]
  const [first] = values
  if (format.order === "intensity") return [first!, first!, first!, first!]
  if (format.order === "luminance") return [first!, first!, first!, 1]
  if (format.order === "depth") return [first!, 0, 0, 1]
  const of = (channel: "r" | "g" | "b" | "a", otherwise: number) => values[channels.indexOf(channel)] ?? otherwise
  return [of("r", 0), of("g", 0), of("b", 0), of("a", 1)]
}

/**
 * The values of the format's channels in four that a kernel writes; intensity, luminance and depth are the first.
 *
 * @internal
 */
export const fromRgba = (format: ImageFormat, rgba: Rgba): ChannelValues => {
  const channels = Format.channels(format)
  demandValues("ImageElement.fromRgba", rgba, 4)
  return format.order === "rgba" ? rgba : channels.map((channel) => rgba[placeOf[channel]])
}

/** Programs without types can pass anything. */
const demandValues = (operation: string, values: ChannelValues, count: number): void => {
  demand(operation, "the values", values, "list")
  for (const value of values) demand(operation, "a value", value, "number")
  if (values.length === count) return
  throw new RangeError(`${operation}: ${values.length} values were given for ${count} channels. Pass one for each.`)
}

const placeOf = { r: 0, g: 1, b: 2, a: 3, i: 0, l: 0, d: 0 } as const
