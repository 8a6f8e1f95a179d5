/** OpenCL's queries about an image and a sampler. */
import type { ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { Resolved } from "../../../domain/images/SamplerOptions.ts"
import * as InfoQuery from "../InfoQuery.ts"
import type { OpenClApi } from "../OpenClApi.ts"
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

const { long, uint, word } = InfoQuery

const imageProperties = {
  elementSize: [0x1111, long],
  rowPitch: [0x1112, long],
  slicePitch: [0x1113, long],
  width: [0x1114, long],
  height: [0x1115, long],
  depth: [0x1116, long],
  arraySize: [0x1117, long],
  buffer: [0x1118, word],
  mipLevels: [0x1119, uint],
  samples: [0x111a, uint]
} as const satisfies InfoQuery.Properties

const named = <Name>(names: ReadonlyMap<number, Name>) => InfoQuery.mapped(uint, (code) => names.get(code))

const float = InfoQuery.mapped(uint, (bits) => new Float32Array(Uint32Array.of(bits).buffer)[0])

const samplerProperties = {
  referenceCount: [0x1150, uint],
  context: [0x1151, word],
  normalizedCoordinates: [0x1152, InfoQuery.mapped(uint, (normalized) => normalized !== 0)],
  addressing: [0x1153, named(addressingNames)],
  filter: [0x1154, named(filterNames)],
  mipFilter: [0x1155, named(filterNames)],
  lodMin: [0x1156, float],
  lodMax: [0x1157, float]
} as const satisfies InfoQuery.Properties

export const describe = (api: OpenClApi, memory: bigint): ImageInfo => {
  const codes = OpenClImageFormat.codesOf(api, memory)
  return {
    format: codes === undefined ? undefined : OpenClImageFormat.decode(codes[0]!, codes[1]!),
    ...InfoQuery.all(imageProperties, api.clGetImageInfo, memory)
  }
}

export const describeSampler = ({ clGetSamplerInfo }: OpenClApi, handle: bigint): SamplerInfo =>
  InfoQuery.all(samplerProperties, clGetSamplerInfo, handle)
