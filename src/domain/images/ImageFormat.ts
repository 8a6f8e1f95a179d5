/**
 * What one element of an image is: which channels it has, and how each is stored.
 *
 * @see pyopencl.ImageFormat
 * @since 0.1.0
 */
import { line } from "../arguments/Format.ts"
import { numberBytes } from "../data/ValueType.ts"
import type { ImageShape } from "./ImageShape.ts"
import { elements } from "./ImageShape.ts"

/**
 * The channels of an element, in the order in which they lie in memory; the names are OpenCL's in lower case. The orders that end in x are
 * those without it, except that alpha is 0 and not 1 where a sampler reads the border.
 *
 * @category models
 * @since 0.1.0
 */
export type ChannelOrder = keyof typeof channelsOf

/**
 * How a channel is stored. Normalised types (`unorm`, `snorm`) are read as floating point, from 0 or -1 to 1. The types
 * with three numbers pack three channels of so many bits into one 16-bit or 32-bit number.
 *
 * @category models
 * @since 0.1.0
 */
export type ChannelType = keyof typeof storageOf

/**
 * A format. Plain data: `Equal.equals` and `Hash.hash` compare its two fields.
 *
 * **Example** (Formats as keys)
 *
 * ```ts
 * import { Equal } from "effect"
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * Equal.equals(ImageFormat.rgba8, ImageFormat.make("rgba", "unorm8")) // => true
 * ```
 *
 * @see pyopencl.ImageFormat
 * @category models
 * @since 0.1.0
 */
export interface ImageFormat {
  readonly order: ChannelOrder
  readonly type: ChannelType
}

/**
 * What a channel holds: red, green, blue, alpha, intensity (all four at once), luminance (red, green and blue at once),
 * or depth.
 *
 * @category models
 * @since 0.1.0
 */
export type Channel = "r" | "g" | "b" | "a" | "i" | "l" | "d"

/**
 * How an item of image data is stored on the host: unsigned, signed, floating point, and its bits.
 *
 * @category models
 * @since 0.1.0
 */
export type ItemType = "u8" | "u16" | "u32" | "i8" | "i16" | "i32" | "f16" | "f32"

const channelsOf = {
  r: ["r"],
  a: ["a"],
  rg: ["r", "g"],
  ra: ["r", "a"],
  rgb: ["r", "g", "b"],
  rgba: ["r", "g", "b", "a"],
  bgra: ["b", "g", "r", "a"],
  argb: ["a", "r", "g", "b"],
  abgr: ["a", "b", "g", "r"],
  intensity: ["i"],
  luminance: ["l"],
  depth: ["d"],
  srgb: ["r", "g", "b"],
  srgba: ["r", "g", "b", "a"],
  sbgra: ["b", "g", "r", "a"],
  rx: ["r"],
  rgx: ["r", "g"],
  rgbx: ["r", "g", "b"],
  srgbx: ["r", "g", "b"]
} satisfies { readonly [order: string]: ReadonlyArray<Channel> }

interface Storage {
  readonly item: ItemType
  /** One item holds all channels. */
  readonly packed?: true
}

const storageOf = {
  unorm8: { item: "u8" },
  unorm16: { item: "u16" },
  snorm8: { item: "i8" },
  snorm16: { item: "i16" },
  unorm565: { item: "u16", packed: true },
  unorm555: { item: "u16", packed: true },
  unorm101010: { item: "u32", packed: true },
  uint8: { item: "u8" },
  uint16: { item: "u16" },
  uint32: { item: "u32" },
  sint8: { item: "i8" },
  sint16: { item: "i16" },
  sint32: { item: "i32" },
  float16: { item: "f16" },
  float32: { item: "f32" }
} satisfies { readonly [type: string]: Storage }

const storage = (format: ImageFormat): Storage => storageOf[format.type]

/**
 * All channel orders.
 *
 * @category constants
 * @since 0.1.0
 */
export const orders: ReadonlyArray<ChannelOrder> = Object.keys(channelsOf) as ReadonlyArray<ChannelOrder>

/**
 * All channel types.
 *
 * @category constants
 * @since 0.1.0
 */
export const types: ReadonlyArray<ChannelType> = Object.keys(storageOf) as ReadonlyArray<ChannelType>

/**
 * A format from its two parts. `Images` answers InvalidRequest for parts that do not go together.
 *
 * **Example** (One float per element)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.make("r", "float32") // => { order: "r", type: "float32" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (order: ChannelOrder, type: ChannelType): ImageFormat => ({ order, type })

/**
 * Red, green, blue and alpha of a byte each, from 0 to 1: what most picture files hold.
 *
 * **Example** (Bytes of a picture)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * 640 * 480 * ImageFormat.elementBytes(ImageFormat.rgba8) // => 1228800
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const rgba8: ImageFormat = make("rgba", "unorm8")

/**
 * The channels of an element, in the order of memory.
 *
 * **Example** (Blue comes first)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.channels(ImageFormat.make("bgra", "unorm8")).join("") // => "bgra"
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const channels = (format: ImageFormat): ReadonlyArray<Channel> => channelsOf[format.order]

/**
 * How many channels an element has.
 *
 * **Example** (Packed channels count too)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.channelCount(ImageFormat.make("rgb", "unorm565")) // => 3
 * ```
 *
 * @see pyopencl.ImageFormat.channel_count
 * @category sizes
 * @since 0.1.0
 */
export const channelCount = (format: ImageFormat): number => channels(format).length

/**
 * How an item of host data for the format is stored: a channel, or a whole element where the channels are packed.
 *
 * **Example** (What a normalised channel is stored as)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.item(ImageFormat.make("r", "snorm16")) // => "i16"
 * ImageFormat.item(ImageFormat.make("rgb", "unorm101010")) // => "u32"
 * ```
 *
 * @see pyopencl.ImageFormat.dtype_size
 * @category getters
 * @since 0.1.0
 */
export const item = (format: ImageFormat): ItemType => storage(format).item

/**
 * How many items of host data an element has: its channels, or 1 where they are packed into one number.
 *
 * @category sizes
 * @since 0.1.0
 */
export const itemCount = (format: ImageFormat): number => isPacked(format) ? 1 : channelCount(format)

/**
 * Bytes of one channel; of all of them together where they are packed.
 *
 * **Example** (A half)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.channelBytes(ImageFormat.make("rgba", "float16")) // => 2
 * ```
 *
 * @see pyopencl.ImageFormat.dtype_size
 * @category sizes
 * @since 0.1.0
 */
export const channelBytes = (format: ImageFormat): number => numberBytes(item(format))

/**
 * Bytes of one element.
 *
 * **Example** (Three channels in two bytes)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.elementBytes(ImageFormat.make("rgb", "unorm565")) // => 2
 * ImageFormat.elementBytes(ImageFormat.make("rgba", "float32")) // => 16
 * ```
 *
 * @see pyopencl.ImageFormat.itemsize, which counts packed formats three times
 * @category sizes
 * @since 0.1.0
 */
export const elementBytes = (format: ImageFormat): number => itemCount(format) * channelBytes(format)

/**
 * Whether one number holds all channels of an element.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isPacked = (format: ImageFormat): boolean => storage(format).packed === true

/**
 * Bytes of all elements of an image, packed; a driver may take more.
 *
 * **Example** (A picture of three bytes by two)
 *
 * ```ts
 * import { ImageFormat, ImageShape } from "effect-gpu-pool/images"
 *
 * ImageFormat.imageBytes(ImageFormat.rgba8, ImageShape.image2d(3, 2)) // => 24
 * ```
 *
 * @category sizes
 * @since 0.1.0
 */
export const imageBytes = (format: ImageFormat, shape: ImageShape): number => elements(shape) * elementBytes(format)

/**
 * Whether two formats are the same.
 *
 * **Example** (Comparing)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.equals(ImageFormat.rgba8, ImageFormat.make("bgra", "unorm8")) // => false
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const equals = (one: ImageFormat, other: ImageFormat): boolean =>
  one?.order === other?.order && one?.type === other?.type

/**
 * A format as messages write it.
 *
 * **Example** (Showing a format)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.format(ImageFormat.make("rg", "float16")) // => "rg float16"
 * ```
 *
 * @see pyopencl.ImageFormat.__repr__
 * @category formatting
 * @since 0.1.0
 */
export const format = (format: ImageFormat): string => `${line(format?.order, 40)} ${line(format?.type, 40)}`

const eightBits: ReadonlySet<ChannelType> = new Set(["unorm8", "snorm8", "uint8", "sint8"])
const notIntegers: ReadonlySet<ChannelType> = new Set(["unorm8", "unorm16", "snorm8", "snorm16", "float16", "float32"])

/** The types that go with an order, by OpenCL's rules (OpenCL 3.0, tables 15 to 17). */
const goesWith = (format: ImageFormat): boolean => {
  const { order, type } = format
  switch (order) {
    case "rgb":
    case "rgbx":
      return isPacked(format)
    case "bgra":
    case "argb":
    case "abgr":
      return eightBits.has(type)
    case "intensity":
    case "luminance":
      return notIntegers.has(type)
    case "depth":
      return type === "unorm16" || type === "float32"
    case "srgb":
    case "srgba":
    case "sbgra":
    case "srgbx":
      return type === "unorm8"
    default:
      return !isPacked(format)
  }
}

/**
 * Every format there is; a device has some of them, see `Images.formats`.
 *
 * **Example** (The formats of one byte)
 *
 * ```ts
 * import { ImageFormat } from "effect-gpu-pool/images"
 *
 * ImageFormat.all.filter((format) => ImageFormat.elementBytes(format) === 1).length // => 16
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const all: ReadonlyArray<ImageFormat> = orders.flatMap((order) =>
  types.map((type) => make(order, type)).filter(goesWith)
)

/**
 * What is wrong with a format, or `undefined`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const problem = (value: ImageFormat): string | undefined => {
  const { order, type } = value
  return goesWith(value) ? undefined : `the order ${order} does not go with the type ${type}`
}
