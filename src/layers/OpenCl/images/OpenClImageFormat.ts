/**
 * The numbers that OpenCL has for image formats and kinds.
 *
 * @see https://github.com/KhronosGroup/OpenCL-Headers/blob/main/CL/cl.h
 * @internal
 */
import * as ImageChannel from "../../../domain/images/ImageChannel.ts"
import * as ImageElement from "../../../domain/images/ImageElement.ts"
import type { ChannelOrder, ChannelType, ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { ImageKind } from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../../domain/images/ImageUsageRules.ts"
import { CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY } from "../memory/MemoryFlags.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"

const orders: { readonly [O in ChannelOrder]: number } = {
  r: 0x10b0,
  a: 0x10b1,
  rg: 0x10b2,
  ra: 0x10b3,
  rgb: 0x10b4,
  rgba: 0x10b5,
  bgra: 0x10b6,
  argb: 0x10b7,
  intensity: 0x10b8,
  luminance: 0x10b9,
  rx: 0x10ba,
  rgx: 0x10bb,
  rgbx: 0x10bc,
  depth: 0x10bd,
  srgb: 0x10bf,
  srgbx: 0x10c0,
  srgba: 0x10c1,
  sbgra: 0x10c2,
  abgr: 0x10c3
}

const types: { readonly [T in ChannelType]: number } = {
  snorm8: 0x10d0,
  snorm16: 0x10d1,
  unorm8: 0x10d2,
  unorm16: 0x10d3,
  unorm565: 0x10d4,
  unorm555: 0x10d5,
  unorm101010: 0x10d6,
  sint8: 0x10d7,
  sint16: 0x10d8,
  sint32: 0x10d9,
  uint8: 0x10da,
  uint16: 0x10db,
  uint32: 0x10dc,
  float16: 0x10dd,
  float32: 0x10de
}

/** The cl_mem_object_type of a kind. */
export const kindCodes: { readonly [K in ImageKind]: number } = {
  "2d": 0x10f1,
  "3d": 0x10f2,
  "2dArray": 0x10f3,
  "1d": 0x10f4,
  "1dArray": 0x10f5,
  "1dBuffer": 0x10f6
}

/** The cl_mem_flags for what kernels do with an image, also for queries of formats. */
export const accessFlag = (usage: ImageUsage.ImageUsage): number =>
  !ImageUsageRules.has(usage, ImageUsage.storage)
    ? CL_MEM_READ_ONLY
    : ImageUsageRules.has(usage, ImageUsage.sampled)
    ? CL_MEM_READ_WRITE
    : CL_MEM_WRITE_ONLY

/** The names of codes. */
export const namesOf = <Name extends string>(codes: { readonly [N in Name]: number }): ReadonlyMap<number, Name> =>
  new Map((Object.entries(codes) as Array<[Name, number]>).map(([name, code]) => [code, name]))

const orderNames = namesOf(orders)
const typeNames = namesOf(types)

const kindNames = namesOf(kindCodes)

/** The kind of a cl_mem_object_type, or `undefined` for what is no image of this library's kinds. */
export const kindOf = (type: number): ImageKind | undefined => kindNames.get(type)

/** Bytes of a cl_image_format: the order and the type. */
export const formatBytes = 8

/** A cl_image_format. */
export const encode = ({ order, type }: ImageFormat): Uint32Array<ArrayBuffer> =>
  Uint32Array.of(orders[order], types[type])

/** The format of a cl_image_format, or `undefined` for one that this library does not have. */
export const decode = (order: number, type: number): ImageFormat | undefined => {
  const [orderName, typeName] = [orderNames.get(order), typeNames.get(type)]
  return orderName === undefined || typeName === undefined ? undefined : { order: orderName, type: typeName }
}

const CL_IMAGE_FORMAT = 0x1110

/** An image's cl_image_format, the order and the type, or `undefined` where the driver does not answer. */
export const codesOf = (api: OpenClApi, memory: bigint): Uint32Array<ArrayBuffer> | undefined => {
  const codes = new Uint32Array(new ArrayBuffer(formatBytes))
  return api.clGetImageInfo(memory, CL_IMAGE_FORMAT, formatBytes, codes, null) === OpenClCode.success
    ? codes
    : undefined
}

/**
 * The share of a step that is added to a normalised value, so that drivers that round and drivers that cut off agree.
 */
const quarter = 0.25

/** Orders whose colour the driver takes as red, green, blue and alpha, without a curve. */
const plainOrders: ReadonlySet<ChannelOrder> = new Set([
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
  format: ImageFormat,
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

const stepsOf: { readonly [T in ChannelType]?: number } = {
  unorm8: 2 ** 8 - 1,
  unorm16: 2 ** 16 - 1,
  snorm8: 2 ** 7 - 1,
  snorm16: 2 ** 15 - 1
}

/** PoCL 3.1 cuts a normalised value off instead of rounding it: 0.25 of 255 becomes 63. */
const offStep = (value: number, steps: number): number =>
  Math.max(-1, Math.min(1, value + Math.sign(value) * (quarter / steps)))
