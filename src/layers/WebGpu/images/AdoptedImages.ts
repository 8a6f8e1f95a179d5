/**
 * Textures and samplers that the program has made itself, as images and samplers of this library.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import type * as SamplerOptions from "../../../domain/images/SamplerOptions.ts"
import * as SamplerProblems from "../../../domain/images/SamplerProblems.ts"
import * as Adoption from "../../../services/backend/Adoption.ts"
import { validated } from "../../../services/calls/Validated.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import { logged } from "../../../services/device/ReleaseInOrder.ts"
import { ImageAllocator } from "../../../services/images/ImageAllocator.ts"
import type { OpenedDevice } from "../opening/OpenedDevice.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import * as AdoptedTexture from "./AdoptedTexture.ts"
import type { WebGpuImages } from "./WebGpuImages.ts"
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
      (options) => adoptImageUnsafe(opened, images, gpu, options),
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
      validated("WebGpu.adoptSampler", () => adoptSamplerUnsafe(opened, images, gpu, options)),
      (sampler) => logged(() => new ImageAllocator(opened).destroySamplerUnsafe(sampler), "A sampler")
    )
  )

const adoptImageUnsafe = (
  { device }: OpenedDevice,
  images: WebGpuImages,
  gpu: WebGpuHandle.Texture,
  { label, takeOver = false }: Adoption.AdoptionOptions
): Exit.Exit<DeviceImage, GpuError> => {
  const found = AdoptedTexture.find(device.info, gpu)
  if (isGpuError(found)) return Exit.fail(found)
  const called = label ?? (gpu.label === "" ? undefined : gpu.label)
  return Exit.succeed(images.adoptUnsafe(gpu, { ...found, label: called }, !takeOver))
}

const adoptSamplerUnsafe = (
  { device }: OpenedDevice,
  images: WebGpuImages,
  gpu: WebGpuHandle.Sampler,
  options: SamplerOptions.SamplerOptions | undefined
): Exit.Exit<DeviceSampler, GpuError> => {
  const operation = "WebGpu.adoptSampler"
  if (device.status.error !== undefined) return Exit.fail(device.status.error)
  if (!isSampler(gpu)) {
    const hint = "Pass a GPUSampler of this device."
    return Exit.fail(invalidRequest(operation, "the value given for a GPUSampler is none", hint))
  }
  const resolved = SamplerProblems.checked(operation, options)
  if (isGpuError(resolved)) return Exit.fail(resolved)
  const descriptor = descriptorOf(operation, resolved)
  return isGpuError(descriptor) ? Exit.fail(descriptor) : Exit.succeed(images.adoptSamplerUnsafe(gpu, resolved))
}

/** A GPUSampler has no member but its label, so only its `toStringTag` identifies it. */
const isSampler = (gpu: WebGpuHandle.Sampler): boolean => Object.prototype.toString.call(gpu) === "[object GPUSampler]"
