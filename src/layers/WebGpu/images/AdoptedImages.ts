/**
 * Textures and samplers that the program has made itself, as images and samplers of this library.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { type DeviceInfo, format as formatDevice } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, unsupported } from "../../../domain/GpuError.ts"
import type { ImageShape } from "../../../domain/images/ImageShape.ts"
import type * as SamplerOptions from "../../../domain/images/SamplerOptions.ts"
import * as SamplerProblems from "../../../domain/images/SamplerProblems.ts"
import * as Adoption from "../../../services/backend/Adoption.ts"
import { validated } from "../../../services/calls/Validated.ts"
import type { DeviceImage, ImageDescription } from "../../../services/device/DeviceImage.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import { logged } from "../../../services/device/ReleaseInOrder.ts"
import { ImageAllocator } from "../../../services/images/ImageAllocator.ts"
import type { OpenedDevice } from "../OwnDevice.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { usageOf } from "./WebGpuImage.ts"
import { imageFormat } from "./WebGpuImageFormat.ts"
import { descriptorOf } from "./WebGpuSampler.ts"

export const adoptImage = (
  opened: OpenedDevice,
  gpu: WebGpuHandle.Texture,
  options: Adoption.AdoptionOptions | undefined
): Effect.Effect<DeviceImage, GpuError, Scope.Scope> =>
  opened.images.use((images) =>
    Adoption.acquire(
      "WebGpu.adoptImage",
      opened.device.status,
      options,
      ({ label, takeOver = false }) => {
        const found = find(opened.device.info, gpu)
        const called = label ?? (gpu.label === "" ? undefined : gpu.label)
        return Exit.succeed(images.adoptUnsafe(gpu, { ...found, label: called }, !takeOver))
      },
      (image) => new ImageAllocator(opened).destroyUnsafe(image),
      "An image"
    )
  )

export const adoptSampler = (
  opened: OpenedDevice,
  gpu: WebGpuHandle.Sampler,
  options: SamplerOptions.SamplerOptions | undefined
): Effect.Effect<DeviceSampler, GpuError, Scope.Scope> =>
  opened.images.use((images) =>
    Effect.acquireRelease(
      validated("WebGpu.adoptSampler", (operation) => {
        valid(opened.device.status.error)
        if (!isSampler(gpu)) {
          const hint = "Pass a GPUSampler of this device."
          throw invalidRequest(operation, "the value given for a GPUSampler is not a GPUSampler", hint)
        }
        const resolved = valid(SamplerProblems.checked(operation, options))
        valid(descriptorOf(operation, resolved))
        return Exit.succeed(images.adoptSamplerUnsafe(gpu, resolved))
      }),
      (sampler) => logged(() => new ImageAllocator(opened).destroySamplerUnsafe(sampler), "A sampler")
    )
  )

/** A GPUSampler has no member but its label, so only its `toStringTag` identifies it. */
const isSampler = (gpu: WebGpuHandle.Sampler): boolean => Object.prototype.toString.call(gpu) === "[object GPUSampler]"

const operation = "WebGpu.adoptImage"

/** What a texture is; throws why it cannot be adopted. */
const find = (info: DeviceInfo, texture: WebGpuHandle.Texture): Omit<ImageDescription, "label"> => {
  if (!isTexture(texture)) {
    throw invalidRequest(operation, "the value is not a GPUTexture", "Pass a GPUTexture of this device.")
  }
  const { mipLevelCount, sampleCount } = texture
  if (mipLevelCount > 1) throw lacks(info, `a texture of ${mipLevelCount} mip levels`)
  if (sampleCount > 1) throw lacks(info, `a texture of ${sampleCount} samples`)
  const format = imageFormat(texture.format)
  if (format === undefined) throw lacks(info, `the texture format ${texture.format}`)
  const usage = usageOf(texture)
  if (usage !== 0) return { shape: shapeOf(texture), format, usage }
  throw invalidRequest(
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
