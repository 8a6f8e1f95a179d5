/**
 * The images and samplers of one dispatch, checked as its buffers are.
 *
 * @internal
 */
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as ImageChannel from "../../domain/images/ImageChannel.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import type { Kernel } from "../../domain/kernel/Kernel.ts"
import type { ImageArg } from "../../domain/kernel/KernelArgument.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import type { DeviceSampler } from "../device/DeviceSampler.ts"
import * as DriverObject from "../device/DriverObject.ts"
import * as ImageAccess from "./ImageAccess.ts"
import * as ImageLike from "./ImageLike.ts"

/** Images and samplers, each in the order in which the kernel declares them. */
export interface BoundImages {
  readonly images: ReadonlyArray<DeviceImage>
  readonly samplers: ReadonlyArray<DeviceSampler>
}

/** What a dispatch without images and samplers has. */
export const none: BoundImages = { images: [], samplers: [] }

const operation = "CommandQueue.dispatch"

/** Checks images and samplers. `lost` is why the device is lost, if it is. */
export const bind = (
  kernel: Kernel,
  args: Readonly<Record<string, unknown>>,
  info: DeviceInfo,
  lost: GpuError | undefined
): BoundImages | GpuError => {
  if (lost !== undefined) return lost
  const images: Array<DeviceImage> = []
  const samplers: Array<DeviceSampler> = []
  for (const argument of kernel.args) {
    const value = args[argument.name]
    if (argument._tag === "ImageArg") {
      const image = value as ImageLike.ImageLike
      const problem = imageProblem(argument, image, info)
      if (problem !== undefined) return problem
      images.push(ImageLike.deviceImage(image))
    } else if (argument._tag === "SamplerArg") {
      const sampler = value as DeviceSampler
      const problem = DriverObject.problem(`${operation}, argument "${argument.name}"`, sampler, info, 0)
      if (problem !== undefined) return problem
      samplers.push(sampler)
    }
  }
  return { images, samplers }
}

const imageProblem = (argument: ImageArg, value: ImageLike.ImageLike, info: DeviceInfo): GpuError | undefined =>
  ImageLike.problem(operation, value, info) ?? usageProblem(argument, value) ?? shapeProblem(argument, value) ??
    ImageAccess.mappedProblem(`${operation}, argument "${argument.name}"`, ImageLike.deviceImage(value), false)

const usageProblem = ({ access, name }: ImageArg, { usage }: ImageLike.ImageLike): GpuError | undefined => {
  const needed = access === "read" ? ImageUsage.sampled : ImageUsage.storage
  return ImageUsageRules.has(usage, needed) ? undefined : invalidRequest(
    operation,
    `argument "${name}" has access "${access}", but the image's usage ${ImageUsageRules.format(usage)} lacks ` +
      ImageUsageRules.format(needed),
    "Name that flag in the usage when you make the image."
  )
}

/** The kind and the format that a kernel declares are compiled into it. */
const shapeProblem = (argument: ImageArg, { format, shape }: ImageLike.ImageLike): GpuError | undefined => {
  const { channel, format: declared, kind, name } = argument
  if (shape.kind !== kind) {
    return invalidRequest(
      operation,
      `argument "${name}" is declared as a ${kind} image, and the image is ${shape.kind}`,
      "Declare the kind of the images that the kernel takes."
    )
  }
  if (ImageChannel.of(format) !== channel) {
    return invalidRequest(
      operation,
      `argument "${name}" has the channel "${channel}", but images of ${ImageFormat.format(format)} have ` +
        `"${ImageChannel.of(format)}"`,
      "Declare the channel, or make the image in another format."
    )
  }
  return declared === undefined || ImageFormat.equals(declared, format) ? undefined : invalidRequest(
    operation,
    `argument "${name}" is declared as ${ImageFormat.format(declared)}, and the image is ${ImageFormat.format(format)}`,
    "Make the image in the format that the kernel declares."
  )
}
