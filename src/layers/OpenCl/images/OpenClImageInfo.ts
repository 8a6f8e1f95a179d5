/**
 * What an OpenCL driver says of images and samplers, and the handles of samplers for other OpenCL code. What it says of an image
 * as a memory object comes from `OpenClMemory.info`, and its handle from `OpenCl.handle`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import type { ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { Resolved } from "../../../domain/images/SamplerOptions.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type * as ImageLike from "../../../services/images/ImageLike.ts"
import * as InfoQuery from "../InfoQuery.ts"
import * as MemoryHandle from "../memory/MemoryHandle.ts"
import type { OpenCl } from "../OpenCl.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import { useOpened } from "../opening/UseOpened.ts"
import * as OpenClImageFormat from "./OpenClImageFormat.ts"
import { addressingNames, filterNames } from "./OpenClSamplers.ts"

/**
 * What the driver says of an image. A field is `undefined` where it does not answer. Dimensions that the kind does not
 * have are 0 here, as OpenCL has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageInfo {
  /** CL_IMAGE_FORMAT, for one that this library knows. */
  readonly format: ImageFormat | undefined
  /** CL_IMAGE_ELEMENT_SIZE in bytes. */
  readonly elementSize: number | undefined
  /** CL_IMAGE_ROW_PITCH in bytes. */
  readonly rowPitch: number | undefined
  /** CL_IMAGE_SLICE_PITCH in bytes; 0 for images without slices. */
  readonly slicePitch: number | undefined
  /** CL_IMAGE_WIDTH in elements. */
  readonly width: number | undefined
  /** CL_IMAGE_HEIGHT in elements. */
  readonly height: number | undefined
  /** CL_IMAGE_DEPTH in elements. */
  readonly depth: number | undefined
  /** CL_IMAGE_ARRAY_SIZE. */
  readonly arraySize: number | undefined
  /** CL_IMAGE_BUFFER: the cl_mem of the buffer that it stands on, or 0. */
  readonly buffer: bigint | undefined
  /** CL_IMAGE_NUM_MIP_LEVELS. */
  readonly mipLevels: number | undefined
  /** CL_IMAGE_NUM_SAMPLES. */
  readonly samples: number | undefined
}

/**
 * What the driver says of a sampler. A field is `undefined` where it does not answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplerInfo {
  /** CL_SAMPLER_REFERENCE_COUNT. */
  readonly referenceCount: number | undefined
  /** CL_SAMPLER_CONTEXT: the cl_context. */
  readonly context: bigint | undefined
  /** CL_SAMPLER_NORMALIZED_COORDS. */
  readonly normalizedCoordinates: boolean | undefined
  /** CL_SAMPLER_ADDRESSING_MODE. */
  readonly addressing: Resolved["addressing"] | undefined
  /** CL_SAMPLER_FILTER_MODE. */
  readonly filter: Resolved["filter"] | undefined
  /** CL_SAMPLER_MIP_FILTER_MODE_KHR, where the device has cl_khr_mipmap_image. */
  readonly mipFilter: Resolved["mipFilter"] | undefined
  /** CL_SAMPLER_LOD_MIN_KHR, likewise. */
  readonly lodMin: number | undefined
  /** CL_SAMPLER_LOD_MAX_KHR, likewise. */
  readonly lodMax: number | undefined
}

const imageProperty = {
  elementSize: 0x1111,
  rowPitch: 0x1112,
  slicePitch: 0x1113,
  width: 0x1114,
  height: 0x1115,
  depth: 0x1116,
  arraySize: 0x1117,
  buffer: 0x1118,
  mipLevels: 0x1119,
  samples: 0x111a
}

const samplerProperty = {
  referenceCount: 0x1150,
  context: 0x1151,
  normalizedCoordinates: 0x1152,
  addressing: 0x1153,
  filter: 0x1154,
  mipFilter: 0x1155,
  lodMin: 0x1156,
  lodMax: 0x1157
}

/**
 * Everything that the driver says of an image. Fails with Released, ForeignDevice or DeviceLost.
 *
 * **Example** (How far apart a driver lays rows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { ImageLike } from "effect-gpu-pool/images"
 * import { OpenClImageInfo } from "effect-gpu-pool/opencl"
 *
 * const padding = (image: ImageLike.ImageLike) =>
 *   Effect.map(
 *     OpenClImageInfo.info(image),
 *     ({ elementSize = 0, rowPitch = 0, width = 0 }) => rowPitch - width * elementSize
 *   )
 * ```
 *
 * @see pyopencl.Image.get_image_info
 * @category accessors
 * @since 0.1.0
 */
export const info = (image: ImageLike.ImageLike): Effect.Effect<ImageInfo, GpuError, OpenCl> =>
  useOpened("OpenClImageInfo.info", ({ api, opened }) => {
    const memory = MemoryHandle.imageHandle("OpenClImageInfo.info", image, opened)
    return isGpuError(memory) ? memory : Effect.succeed(describe(api, memory))
  })

/** @internal */
export const describe = (api: OpenClApi, memory: bigint): ImageInfo => {
  const { clGetImageInfo } = api
  const codes = OpenClImageFormat.codesOf(api, memory)
  const size = (what: number) => InfoQuery.long(clGetImageInfo, memory, what)
  const count = (what: number) => InfoQuery.uint(clGetImageInfo, memory, what)
  return {
    format: codes === undefined ? undefined : OpenClImageFormat.decode(codes[0]!, codes[1]!),
    elementSize: size(imageProperty.elementSize),
    rowPitch: size(imageProperty.rowPitch),
    slicePitch: size(imageProperty.slicePitch),
    width: size(imageProperty.width),
    height: size(imageProperty.height),
    depth: size(imageProperty.depth),
    arraySize: size(imageProperty.arraySize),
    buffer: InfoQuery.word(clGetImageInfo, memory, imageProperty.buffer),
    mipLevels: count(imageProperty.mipLevels),
    samples: count(imageProperty.samples)
  }
}

/**
 * Everything that the driver says of a sampler. Fails with Released, ForeignDevice or DeviceLost.
 *
 * **Example** (What a sampler does beyond the edges)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images } from "effect-gpu-pool/images"
 * import { OpenClImageInfo } from "effect-gpu-pool/opencl"
 *
 * const addressing = Images.sampler().pipe(
 *   Effect.flatMap(OpenClImageInfo.samplerInfo),
 *   Effect.map((info) => info.addressing)
 * )
 * ```
 *
 * @see pyopencl.Sampler.get_info
 * @category accessors
 * @since 0.1.0
 */
export const samplerInfo = (sampler: DeviceSampler): Effect.Effect<SamplerInfo, GpuError, OpenCl> =>
  useOpened("OpenClImageInfo.samplerInfo", ({ api, opened }) => {
    const handle = MemoryHandle.samplerHandle("OpenClImageInfo.samplerInfo", sampler, opened)
    return isGpuError(handle) ? handle : Effect.succeed(describeSampler(api, handle))
  })

/** @internal */
export const describeSampler = ({ clGetSamplerInfo }: OpenClApi, handle: bigint): SamplerInfo => {
  const count = (what: number) => InfoQuery.uint(clGetSamplerInfo, handle, what)
  const normalized = count(samplerProperty.normalizedCoordinates)
  const named = <Name>(names: ReadonlyMap<number, Name>, what: number) => {
    const code = count(what)
    return code === undefined ? undefined : names.get(code)
  }
  return {
    referenceCount: count(samplerProperty.referenceCount),
    context: InfoQuery.word(clGetSamplerInfo, handle, samplerProperty.context),
    normalizedCoordinates: normalized === undefined ? undefined : normalized !== 0,
    addressing: named(addressingNames, samplerProperty.addressing),
    filter: named(filterNames, samplerProperty.filter),
    mipFilter: named(filterNames, samplerProperty.mipFilter),
    lodMin: floatOf(count(samplerProperty.lodMin)),
    lodMax: floatOf(count(samplerProperty.lodMax))
  }
}

/**
 * The cl_sampler of a sampler, as an address, which is valid until the sampler's scope closes. Fails with Released,
 * ForeignDevice or DeviceLost.
 *
 * **Example** (A sampler for a kernel of another library)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images } from "effect-gpu-pool/images"
 * import { OpenClImageInfo } from "effect-gpu-pool/opencl"
 *
 * const address = Effect.flatMap(Images.sampler({ filter: "linear" }), OpenClImageInfo.samplerHandle)
 * ```
 *
 * @see pyopencl.Sampler.int_ptr
 * @category accessors
 * @since 0.1.0
 */
export const samplerHandle = (sampler: DeviceSampler): Effect.Effect<bigint, GpuError, OpenCl> =>
  useOpened("OpenClImageInfo.samplerHandle", ({ opened }) => {
    const handle = MemoryHandle.samplerHandle("OpenClImageInfo.samplerHandle", sampler, opened)
    return isGpuError(handle) ? handle : Effect.succeed(handle)
  })

const floatOf = (bits: number | undefined): number | undefined =>
  bits === undefined ? undefined : new Float32Array(Uint32Array.of(bits).buffer)[0]
