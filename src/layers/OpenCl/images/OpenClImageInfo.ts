/**
 * What an OpenCL driver says of images and samplers, and the handles of samplers for other OpenCL code. What it says of an image
 * as a memory object comes from `OpenClMemory.info`, and its handle from `OpenCl.handle`.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import type { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type * as ImageLike from "../../../services/images/ImageLike.ts"
import * as MemoryHandle from "../memory/MemoryHandle.ts"
import type { OpenCl } from "../OpenCl.ts"
import { useOpenedDevice } from "../OwnDevice.ts"
import { describe, describeSampler, type ImageInfo, type SamplerInfo } from "./ImageQueries.ts"

export type { ImageInfo, SamplerInfo } from "./ImageQueries.ts"

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
  useOpenedDevice(
    "OpenClImageInfo.info",
    ({ api, opened }, operation) => Exit.succeed(describe(api, MemoryHandle.imageHandle(operation, image, opened)))
  )

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
  useOpenedDevice(
    "OpenClImageInfo.samplerInfo",
    ({ api, opened }, operation) =>
      Exit.succeed(describeSampler(api, MemoryHandle.samplerHandle(operation, sampler, opened)))
  )

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
  useOpenedDevice(
    "OpenClImageInfo.samplerHandle",
    ({ opened }, operation) => Exit.succeed(MemoryHandle.samplerHandle(operation, sampler, opened))
  )
