/**
 * Images and samplers that other code has made, as the driver describes them.
 *
 * @internal
 */
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { withArticle } from "../../../domain/arguments/Format.ts"
import { format as formatDevice } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, unsupported } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import { type ImageShape, isFlat } from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import * as SamplerOptions from "../../../domain/images/SamplerOptions.ts"
import type { ImageDescription } from "../../../services/device/DeviceImage.ts"
import { foreignHandle, handleProblem, typeOf } from "../memory/AdoptedHandle.ts"
import { CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY } from "../memory/MemoryFlags.ts"
import * as MemoryQuery from "../memory/MemoryQuery.ts"
import { driverError } from "../OpenClError.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { describe, describeSampler } from "./ImageQueries.ts"
import * as OpenClImageFormat from "./OpenClImageFormat.ts"
import type { ImageInfo } from "./OpenClImageInfo.ts"
import type { OpenClImages } from "./OpenClImages.ts"

const CL_INVALID_MEM_OBJECT = -38

const operation = "OpenClMemory.adoptImage"

/** What a handle is of; throws why it cannot be adopted. */
export const find = (
  device: OpenDevice,
  images: OpenClImages,
  memory: bigint,
  label: string | undefined
): Omit<ImageDescription, "label"> => {
  const type = typeOf(operation, device, memory, label, "image")
  const kind = OpenClImageFormat.kindOf(type)
  if (kind === undefined) {
    throw invalidRequest(
      operation,
      `the handle is of ${withArticle(MemoryQuery.typeName(type))}`,
      "Pass the cl_mem of an image; OpenClMemory.adopt takes a buffer's."
    )
  }
  if (kind === "1dBuffer") throw lacks(device, "an image over a buffer")
  const info = describe(device.api, memory)
  const { buffer = 0n, mipLevels = 0, samples = 0 } = info
  if (mipLevels > 1) throw lacks(device, `an image of ${mipLevels} mip levels`)
  if (samples > 1) throw lacks(device, `an image of ${samples} samples`)
  const beneath = MemoryQuery.property(device.api, memory, "associatedMemory") ?? 0n
  if (buffer !== 0n || beneath !== 0n) throw lacks(device, "an image over other memory")
  const codes = OpenClImageFormat.codesOf(device.api, memory)
  if (codes === undefined) throw driverError({ call: "clGetImageInfo", code: CL_INVALID_MEM_OBJECT })
  const format = OpenClImageFormat.decode(codes[0]!, codes[1]!)
  if (format === undefined || ImageFormat.problem(format) !== undefined) {
    const [order, channel] = [...codes].map((code) => `0x${code.toString(16)}`)
    throw lacks(device, `the image format of order ${order} and type ${channel}`)
  }
  // The driver may store what the library does not count: the x of an order with one.
  if (info.elementSize !== ImageFormat.elementBytes(format)) {
    throw lacks(device, `the image format ${ImageFormat.format(format)} of ${info.elementSize} bytes`)
  }
  const shape = shapeOf(kind, info)
  return { shape, format, usage: usageOf(device, images, memory, shape, format) }
}

const lacks = ({ info }: OpenDevice, feature: string): GpuError =>
  unsupported(
    operation,
    formatDevice(info),
    feature,
    "Copy the elements to an image of Images.make, with the API that the handle comes from."
  )

/** The driver leaves the dimensions at 0 that the kind does not have. */
const shapeOf = (kind: ImageShape["kind"], { arraySize, depth, height, width }: ImageInfo): ImageShape => {
  const isArray = kind === "1dArray" || kind === "2dArray"
  return {
    kind,
    width: Math.max(1, width ?? 1),
    height: isFlat(kind) ? 1 : Math.max(1, height ?? 1),
    depth: kind === "3d" ? Math.max(1, depth ?? 1) : 1,
    layers: isArray ? Math.max(1, arraySize ?? 1) : 1
  }
}

/** What the flags allow, without what the device does wrongly in that format. */
const usageOf = (
  device: OpenDevice,
  images: OpenClImages,
  memory: bigint,
  { kind }: ImageShape,
  format: ImageFormat.ImageFormat
): ImageUsage.ImageUsage => {
  const flags = MemoryQuery.property(device.api, memory, "flags") ?? 0
  const can = (usage: ImageUsage.ImageUsage, excluded: number): number =>
    (flags & excluded) === 0 && images.formats(usage, kind).some((each) => ImageFormat.equals(each, format)) ? usage : 0
  return ImageUsage.copySrc | ImageUsage.copyDst | can(ImageUsage.sampled, CL_MEM_WRITE_ONLY) |
    can(ImageUsage.storage, CL_MEM_READ_ONLY)
}

const CL_INVALID_SAMPLER = -41

const samplerOperation = "OpenClMemory.adoptSampler"

/**
 * What a cl_sampler of this device's context does; throws why it cannot be adopted. A driver that knows no mip levels does not
 * answer for them: the sampler then has the defaults.
 */
export const findSampler = (device: OpenDevice, handle: bigint): SamplerOptions.Resolved => {
  valid(handleProblem(samplerOperation, handle, "cl_sampler"))
  const { addressing, context, filter, lodMax, lodMin, mipFilter, normalizedCoordinates, referenceCount } =
    describeSampler(device.api, handle)
  if (referenceCount === undefined) throw driverError({ call: "clGetSamplerInfo", code: CL_INVALID_SAMPLER })
  if (context !== device.context) throw foreignHandle(samplerOperation, device, undefined, "sampler")
  if (addressing !== undefined && filter !== undefined && normalizedCoordinates !== undefined) {
    return SamplerOptions.resolve({ addressing, filter, lodMax, lodMin, mipFilter, normalizedCoordinates })
  }
  throw unsupported(
    samplerOperation,
    formatDevice(device.info),
    "an addressing or a filter that SamplerOptions does not have",
    "Make a sampler with Images.sampler."
  )
}
