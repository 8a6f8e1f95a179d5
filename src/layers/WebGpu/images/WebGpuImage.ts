/**
 * A GPUTexture as a device image.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { ImageKind, ImageOrigin, ImageRegion } from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../../domain/images/ImageUsageRules.ts"
import { DeviceImage, type ImageDescription } from "../../../services/device/DeviceImage.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

let images = 0

export class WebGpuImage extends DeviceImage {
  readonly gpu: WebGpuHandle.Texture
  /** A number of its own, to look bind groups up by. */
  readonly id = ++images
  /** Whether the GPUTexture belongs to the program, so that the library never destroys it. */
  readonly isBorrowed: boolean
  #view: WebGpuHandle.TextureView | undefined = undefined

  constructor(owner: DeviceInfo, image: ImageDescription, gpu: WebGpuHandle.Texture, isBorrowed: boolean = false) {
    super(owner, image)
    this.gpu = gpu
    this.isBorrowed = isBorrowed
  }

  override get identity(): object {
    return this.gpu
  }

  /** The whole image as kernels bind it: an array stays one, however many layers it has. Made at first use. */
  get view(): WebGpuHandle.TextureView {
    const { kind } = this.shape
    return this.#view ??= this.gpu.createView({ dimension: kind === "2dArray" ? "2d-array" : dimensionOf(kind) })
  }
}

/** The texture of an image whose owner is this device: so its class is this one. */
export const textureOf = (image: DeviceImage): WebGpuHandle.Texture => (image as WebGpuImage).gpu

export const dimensionOf = (kind: ImageKind): WebGpuApi.TextureDimension => kind === "1d" || kind === "3d" ? kind : "2d"

export const gpuOrigin = ([x, y, z]: ImageOrigin): WebGpuApi.Origin3D => ({ x, y, z })

export const gpuExtent = ([width, height, depthOrArrayLayers]: ImageRegion["extent"]): WebGpuApi.Extent3D => ({
  width,
  height,
  depthOrArrayLayers
})

/** The numbers of GPUTextureUsage, which the specification fixes and Node has no global for. */
export const textureUsageBits = { copySrc: 0x1, copyDst: 0x2, textureBinding: 0x4, storageBinding: 0x8 } as const

const mapping: ReadonlyArray<readonly [ImageUsage.ImageUsage, number]> = [
  [ImageUsage.sampled, textureUsageBits.textureBinding],
  [ImageUsage.storage, textureUsageBits.storageBinding],
  [ImageUsage.copySrc, textureUsageBits.copySrc],
  [ImageUsage.copyDst, textureUsageBits.copyDst]
]

export const textureUsage = (usage: ImageUsage.ImageUsage): number =>
  mapping.reduce((bits, [flag, bit]) => ImageUsageRules.has(usage, flag) ? bits | bit : bits, 0)

/** The usage that an existing texture allows. */
export const usageOf = (gpu: WebGpuHandle.Texture): ImageUsage.ImageUsage =>
  mapping.reduce((usage, [flag, bit]) => (gpu.usage & bit) === 0 ? usage : usage | flag, 0)
