/**
 * Samplers. Only the garbage collector frees a GPUSampler; the library counts one as released when its scope closes.
 *
 * @internal
 */
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"
import type { Addressing, Resolved } from "../../../domain/images/SamplerOptions.ts"
import { DeviceSampler } from "../../../services/device/DeviceSampler.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"

let samplers = 0

export class WebGpuSampler extends DeviceSampler {
  readonly gpu: WebGpuHandle.Sampler
  /** A number of its own, to look bind groups up by. */
  readonly id = ++samplers

  constructor(owner: DeviceInfo, options: Resolved, gpu: WebGpuHandle.Sampler) {
    super(owner, options)
    this.gpu = gpu
  }

  override get identity(): object {
    return this.gpu
  }
}

/** Without an addressing of its own a kernel may read anything outside the image, so the edge will do. */
const addressModes: { readonly [A in Exclude<Addressing, "clampToBorder">]: WebGpuApi.AddressMode } = {
  clampToEdge: "clamp-to-edge",
  none: "clamp-to-edge",
  repeat: "repeat",
  mirroredRepeat: "mirror-repeat"
}

/** The descriptor of a sampler, or why WebGPU has no such sampler. */
export const descriptorOf = (
  operation: string,
  { addressing, filter, lodMax, lodMin, mipFilter, normalizedCoordinates }: Resolved
): WebGpuApi.SamplerDescriptor | GpuError => {
  if (addressing === "clampToBorder") {
    return unsupported(
      operation,
      "webgpu",
      `the addressing "clampToBorder"`,
      `WebGPU's samplers have no border: pass "clampToEdge", and let the kernel test the coordinates itself.`
    )
  }
  if (normalizedCoordinates === false) {
    return unsupported(
      operation,
      "webgpu",
      "a sampler without normalised coordinates",
      "WGSL samples from 0 to 1: divide the coordinates by the image's size, or read elements without a sampler."
    )
  }
  const mode = addressModes[addressing]
  return {
    addressModeU: mode,
    addressModeV: mode,
    addressModeW: mode,
    magFilter: filter,
    minFilter: filter,
    mipmapFilter: mipFilter,
    lodMinClamp: lodMin,
    lodMaxClamp: lodMax
  }
}
