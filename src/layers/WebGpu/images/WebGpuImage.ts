/**
 * A GPUTexture as a device image.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/DeviceInfo.ts"
import type { ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { ImageKind, ImageOrigin, ImageRegion, ImageShape } from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import { DeviceImage } from "../../../services/images/DeviceImage.ts"

let images = 0

/** @internal */
export class WebGpuImage extends DeviceImage {
  readonly gpu: GPUTexture
  /** A number of its own, to look bind groups up by. */
  readonly id = ++images
  /** It stays with the program that made it. */
  readonly isBorrowed: boolean
  #view: GPUTextureView | undefined = undefined

  constructor(
    owner: DeviceInfo,
    shape: ImageShape,
    format: ImageFormat,
    usage: ImageUsage.ImageUsage,
    label: string | undefined,
    gpu: GPUTexture,
    isBorrowed: boolean = false
  ) {
    super(owner, shape, format, usage, label)
    this.gpu = gpu
    this.isBorrowed = isBorrowed
  }

  override get identity(): object {
    return this.gpu
  }

  /** The whole image as kernels bind it: an array stays one, however many layers it has. Made at first use. */
  get view(): GPUTextureView {
    const { kind } = this.shape
    return this.#view ??= this.gpu.createView({ dimension: kind === "2dArray" ? "2d-array" : dimensionOf(kind) })
  }
}

/**
 * The texture of an image whose owner is this device: so its class is this one.
 *
 * @internal
 */
export const textureOf = (image: DeviceImage): GPUTexture => (image as WebGpuImage).gpu

/** @internal */
export const dimensionOf = (kind: ImageKind): GPUTextureDimension => kind === "1d" || kind === "3d" ? kind : "2d"

/** @internal */
export const gpuOrigin = ([x, y, z]: ImageOrigin): GPUOrigin3DDict => ({ x, y, z })

/** @internal */
export const gpuExtent = ([width, height, depthOrArrayLayers]: ImageRegion["extent"]): GPUExtent3DDict => ({
  width,
  height,
  depthOrArrayLayers
})

/**
 * The numbers of GPUTextureUsage, which the specification fixes and Node has no global for.
 *
 * @internal
 */
export const textureUsageBits = { copySrc: 0x1, copyDst: 0x2, textureBinding: 0x4, storageBinding: 0x8 } as const

const mapping: ReadonlyArray<readonly [ImageUsage.ImageUsage, number]> = [
  [ImageUsage.sampled, textureUsageBits.textureBinding],
  [ImageUsage.storage, textureUsageBits.storageBinding],
  [ImageUsage.copySrc, textureUsageBits.copySrc],
  [ImageUsage.copyDst, textureUsageBits.copyDst]
]

/** @internal */
export const textureUsage = (usage: ImageUsage.ImageUsage): number =>
  mapping.reduce((bits, [flag, bit]) => ImageUsage.has(usage, flag) ? bits | bit : bits, 0)

/**
 * The usage that an existing texture allows.
 *
 * @internal
 */
export const usageOf = (gpu: GPUTexture): ImageUsage.ImageUsage =>
  mapping.reduce((usage, [flag, bit]) => (gpu.usage & bit) === 0 ? usage : usage | flag, 0)
