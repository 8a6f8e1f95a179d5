/**
 * WebGPU's texture formats, by the channels and types that images name. Pure, so that it is tested without a driver.
 *
 * WebGPU has no three channels without a fourth, no order with alpha first, no intensity and no luminance; its packed
 * formats lay their bits out the other way round than OpenCL's, and its depth formats can only be copied as a whole. All
 * of them are left out.
 *
 * @internal
 */
import type { ChannelOrder, ChannelType, ImageFormat } from "../../../domain/images/ImageFormat.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../../domain/images/ImageUsageRules.ts"
import type { WantedFeature } from "../opening/OpenDevice.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

interface TextureFormat {
  readonly format: ImageFormat
  readonly gpu: WebGpuHandle.TextureFormat
  /** The feature without which a device does not have it at all. */
  readonly feature: WantedFeature | undefined
  /** The feature without which kernels cannot write it; `"never"` where none helps. */
  readonly storageFeature: WantedFeature | "never" | undefined
}

const suffixes: { readonly [T in ChannelType]?: string } = {
  unorm8: "8unorm",
  snorm8: "8snorm",
  uint8: "8uint",
  sint8: "8sint",
  unorm16: "16unorm",
  snorm16: "16snorm",
  uint16: "16uint",
  sint16: "16sint",
  float16: "16float",
  uint32: "32uint",
  sint32: "32sint",
  float32: "32float"
}

/** Formats that were optional, or could not be written, before this feature. */
const tier1: WantedFeature = "texture-formats-tier1"

const isWide = (type: ChannelType): boolean => type === "uint32" || type === "sint32" || type === "float32"

const isNormalised16 = (type: ChannelType): boolean => type === "unorm16" || type === "snorm16"

const plain = (order: ChannelOrder, type: ChannelType, suffix: string): TextureFormat => ({
  format: { order, type },
  gpu: `${order}${suffix}` as WebGpuHandle.TextureFormat,
  feature: isNormalised16(type) ? tier1 : undefined,
  storageFeature: isWide(type) || (order === "rgba" && !isNormalised16(type)) ? undefined : tier1
})

const special = (
  order: ChannelOrder,
  gpu: WebGpuHandle.TextureFormat,
  storageFeature: TextureFormat["storageFeature"]
): TextureFormat => ({ format: { order, type: "unorm8" }, gpu, feature: undefined, storageFeature })

const formats: ReadonlyArray<TextureFormat> = [
  ...(["r", "rg", "rgba"] as const).flatMap((order) =>
    Object.entries(suffixes).map(([type, suffix]) => plain(order, type as ChannelType, suffix))
  ),
  special("bgra", "bgra8unorm", "bgra8unorm-storage"),
  special("srgba", "rgba8unorm-srgb", "never"),
  special("sbgra", "bgra8unorm-srgb", "never")
]

const byName: ReadonlyMap<string, TextureFormat> = new Map(
  formats.map((format) => [`${format.format.order} ${format.format.type}`, format])
)

/** WebGPU's name of a format, or `undefined` where it has none. */
export const gpuFormat = ({ order, type }: ImageFormat): WebGpuHandle.TextureFormat | undefined =>
  byName.get(`${order} ${type}`)?.gpu

const byGpuName: ReadonlyMap<string, ImageFormat> = new Map(formats.map(({ format, gpu }) => [gpu, format]))

/** The format of WebGPU's name, or `undefined` where images have none. */
export const imageFormat = (gpu: WebGpuHandle.TextureFormat): ImageFormat | undefined => byGpuName.get(gpu)

/** The feature that a device lacks for textures of a format and usage; `undefined` where it lacks none, or none helps. */
export const missingFeature = (
  features: WebGpuApi.Features,
  { order, type }: ImageFormat,
  usage: ImageUsage.ImageUsage
): WantedFeature | undefined => {
  const { feature, storageFeature } = byName.get(`${order} ${type}`) ?? {}
  const lacks = (one: WantedFeature | undefined): boolean => one !== undefined && !features.has(one)
  const toWrite = ImageUsageRules.has(usage, ImageUsage.storage) ? storageFeature : undefined
  if (toWrite === "never") return undefined
  return [feature, toWrite].find(lacks)
}

/** The formats that textures of a usage can have on a device with these features. */
export const supported = (
  features: WebGpuApi.Features,
  usage: ImageUsage.ImageUsage
): ReadonlyArray<ImageFormat> => {
  const has = (feature: string | undefined): boolean => feature === undefined || features.has(feature)
  const written = ImageUsageRules.has(usage, ImageUsage.storage)
  return formats.filter(({ feature, storageFeature }) => has(feature) && (!written || has(storageFeature)))
    .map(({ format }) => format)
}
