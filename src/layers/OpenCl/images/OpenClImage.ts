/**
 * A device image around a cl_mem, and a sampler around a cl_sampler.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { ImageFormat } from "../../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../../domain/images/ImageShape.ts"
import type { ImageUsage } from "../../../domain/images/ImageUsage.ts"
import type { Resolved } from "../../../domain/images/SamplerOptions.ts"
import { DeviceImage } from "../../../services/device/DeviceImage.ts"
import { DeviceSampler } from "../../../services/device/DeviceSampler.ts"

export class OpenClImage extends DeviceImage {
  /** The cl_mem. */
  readonly memory: bigint
  /**
   * Another image around the same cl_mem, for one that was adopted: drivers reuse handles, so only the object
   * identifies it.
   */
  readonly #twin: OpenClImage | undefined

  constructor(
    memory: bigint,
    owner: DeviceInfo,
    shape: ImageShape,
    format: ImageFormat,
    usage: ImageUsage,
    label: string | undefined,
    twin?: OpenClImage | undefined
  ) {
    super(owner, shape, format, usage, label)
    this.memory = memory
    this.#twin = twin
  }

  override get identity(): object {
    return this.#twin === undefined ? this : this.#twin.identity
  }
}

export class OpenClSampler extends DeviceSampler {
  /** The cl_sampler. */
  readonly handle: bigint
  /** Another sampler around the same cl_sampler, for one that was adopted. */
  readonly #twin: OpenClSampler | undefined

  constructor(handle: bigint, owner: DeviceInfo, options: Resolved, twin?: OpenClSampler | undefined) {
    super(owner, options)
    this.handle = handle
    this.#twin = twin
  }

  override get identity(): object {
    return this.#twin === undefined ? this : this.#twin.identity
  }
}

/** The cl_mem of an image that is checked: it belongs to this backend's device. */
export const imageOf = (image: DeviceImage): bigint => (image as OpenClImage).memory

/** The cl_sampler of a sampler that is checked likewise. */
export const samplerOf = (sampler: DeviceSampler): bigint => (sampler as OpenClSampler).handle
