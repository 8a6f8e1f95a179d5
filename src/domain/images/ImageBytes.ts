/**
 * The elements of an image as bytes.
 */
import * as HalfFloat from "./HalfFloat.ts"
import * as Format from "./ImageFormat.ts"
import type { ChannelType, ImageFormat } from "./ImageFormat.ts"
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

/** The lowest number also means -1, so that 0 is represented exactly. */
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

/** How a channel stores a value; packed ones share their bits. */
const stores: { readonly [T in ChannelType]?: (view: DataView, at: number, value: number) => void } = {
  unorm8: (view, at, value) => view.setUint8(at, unorm(value, 8)),
  unorm16: (view, at, value) => view.setUint16(at, unorm(value, 16), true),
  snorm8: (view, at, value) => view.setInt8(at, snorm(value, 8)),
  snorm16: (view, at, value) => view.setInt16(at, snorm(value, 16), true),
  uint8: (view, at, value) => view.setUint8(at, unsigned(value, 8)),
  uint16: (view, at, value) => view.setUint16(at, unsigned(value, 16), true),
  uint32: (view, at, value) => view.setUint32(at, unsigned(value, 32), true),
  sint8: (view, at, value) => view.setInt8(at, signed(value, 8)),
  sint16: (view, at, value) => view.setInt16(at, signed(value, 16), true),
  sint32: (view, at, value) => view.setInt32(at, signed(value, 32), true),
  float16: (view, at, value) => view.setUint16(at, HalfFloat.toBits(value), true),
  float32: (view, at, value) => view.setFloat32(at, value, true)
}

const loads: { readonly [T in ChannelType]?: (view: DataView, at: number) => number } = {
  unorm8: (view, at) => view.getUint8(at) / 255,
  unorm16: (view, at) => view.getUint16(at, true) / 65535,
  snorm8: (view, at) => fromSnorm(view.getInt8(at), 8),
  snorm16: (view, at) => fromSnorm(view.getInt16(at, true), 16),
  uint8: (view, at) => view.getUint8(at),
  uint16: (view, at) => view.getUint16(at, true),
  uint32: (view, at) => view.getUint32(at, true),
  sint8: (view, at) => view.getInt8(at),
  sint16: (view, at) => view.getInt16(at, true),
  sint32: (view, at) => view.getInt32(at, true),
  float16: (view, at) => HalfFloat.fromBits(view.getUint16(at, true)),
  float32: (view, at) => view.getFloat32(at, true)
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

/** Applies `curve` to the colours, not to alpha. */
const curved = (format: ImageFormat, values: ChannelValues, curve: (value: number) => number): ChannelValues =>
  isSrgb(format)
    ? Format.channels(format).map((channel, at) => channel === "a" ? values[at]! : curve(values[at]!))
    : values

/**
 * Stores an element at `at`, in bytes; each value is rounded to the nearest that the channel can store, ties to even.
 * `values` has one value per channel.
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
  const store = stores[format.type]!
  for (let channel = 0; channel < stored.length; channel++) store(view, at + channel * bytes, stored[channel]!)
}

export const decodeFrom = (format: ImageFormat, view: DataView, at: number): ChannelValues => {
  const bits = packedBits[format.type]
  if (bits !== undefined) {
    return unpack(Format.elementBytes(format) === 2 ? view.getUint16(at, true) : view.getUint32(at, true), bits)
  }
  const bytes = Format.channelBytes(format)
  const load = loads[format.type]!
  const stored = Format.channels(format).map((_, channel) => load(view, at + channel * bytes))
  return curved(format, stored, fromSrgb)
}

/**
 * The values of the format's channels in four that a kernel writes; intensity, luminance and depth are the first.
 */
export const fromRgba = (format: ImageFormat, rgba: Rgba): ChannelValues => {
  const channels = Format.channels(format)
  demandCount("ImageElement.fromRgba", rgba, 4)
  return format.order === "rgba" ? rgba : channels.map((channel) => rgba[placeOf[channel]])
}

export const demandCount = (operation: string, values: ChannelValues, count: number): void => {
  if (values.length === count) return
  throw new RangeError(`${operation}: ${values.length} values were given for ${count} channels. Pass one for each.`)
}

const placeOf = { r: 0, g: 1, b: 2, a: 3, i: 0, l: 0, d: 0 } as const
