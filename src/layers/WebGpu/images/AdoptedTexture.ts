/**
 * A texture that the program has made itself, as its own properties describe it.
 *
 * @internal
 */
import { format as formatDevice } from "../../../domain/device/DeviceInfo.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, unsupported } from "../../../domain/GpuError.ts"
import type { ImageShape } from "../../../domain/images/ImageShape.ts"
import type { ImageDescription } from "../../../services/device/DeviceImage.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { usageOf } from "./WebGpuImage.ts"
import { imageFormat } from "./WebGpuImageFormat.ts"

const operation = "WebGpu.adoptImage"

/** What a texture is, or why it cannot be adopted. */
export const find = (info: DeviceInfo, texture: WebGpuHandle.Texture): Omit<ImageDescription, "label"> | GpuError => {
  if (!isTexture(texture)) {
    return invalidRequest(operation, "the value given for a GPUTexture is none", "Pass a GPUTexture of this device.")
  }
  const { mipLevelCount, sampleCount } = texture
  if (mipLevelCount > 1) return lacks(info, `a texture of ${mipLevelCount} mip levels`)
  if (sampleCount > 1) return lacks(info, `a texture of ${sampleCount} samples`)
  const format = imageFormat(texture.format)
  if (format === undefined) return lacks(info, `the texture format ${texture.format}`)
  const usage = usageOf(texture)
  if (usage !== 0) return { shape: shapeOf(texture), format, usage }
  return invalidRequest(
    operation,
    `the texture's usage 0x${texture.usage.toString(16)} allows nothing that images do`,
    "Make it with COPY_SRC, COPY_DST, TEXTURE_BINDING or STORAGE_BINDING."
  )
}

const isTexture = (texture: WebGpuHandle.Texture): boolean =>
  typeof texture === "object" && texture !== null && typeof texture.usage === "number" &&
  typeof texture.depthOrArrayLayers === "number" && typeof texture.format === "string"

const shapeOf = ({ depthOrArrayLayers, dimension, height, width }: WebGpuHandle.Texture): ImageShape => {
  if (dimension === "1d") return { kind: "1d", width, height: 1, depth: 1, layers: 1 }
  if (dimension === "3d") return { kind: "3d", width, height, depth: depthOrArrayLayers, layers: 1 }
  return { kind: depthOrArrayLayers > 1 ? "2dArray" : "2d", width, height, depth: 1, layers: depthOrArrayLayers }
}

const lacks = (info: DeviceInfo, feature: string): GpuError =>
  unsupported(
    operation,
    formatDevice(info),
    feature,
    "Copy it to a texture that an image can be of, with a command encoder of your own."
  )
