/**
 * A sampler that other code has made, as the driver describes it.
 *
 * @internal
 */
import { format as formatDevice } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, unsupported } from "../../../domain/GpuError.ts"
import * as SamplerOptions from "../../../domain/images/SamplerOptions.ts"
import { foreignHandle, handleProblem } from "../memory/AdoptedHandle.ts"
import { driverError } from "../OpenClError.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { describeSampler } from "./ImageQueries.ts"

const CL_INVALID_SAMPLER = -41

const operation = "OpenClMemory.adoptSampler"

/**
 * What a cl_sampler of this device's context does, or why it cannot be adopted. A driver that knows no mip levels does not
 * answer for them: the sampler then has the defaults.
 */
export const find = (device: OpenDevice, handle: bigint): SamplerOptions.Resolved | GpuError => {
  const problem = handleProblem(operation, handle, "cl_sampler")
  if (problem !== undefined) return problem
  const { addressing, context, filter, lodMax, lodMin, mipFilter, normalizedCoordinates, referenceCount } =
    describeSampler(device.api, handle)
  if (referenceCount === undefined) return driverError({ call: "clGetSamplerInfo", code: CL_INVALID_SAMPLER })
  if (context !== device.context) return foreignHandle(operation, device, undefined, "sampler")
  if (addressing !== undefined && filter !== undefined && normalizedCoordinates !== undefined) {
    return SamplerOptions.resolve({ addressing, filter, lodMax, lodMin, mipFilter, normalizedCoordinates })
  }
  return unsupported(
    operation,
    formatDevice(device.info),
    "an addressing or a filter that SamplerOptions does not have",
    "Make a sampler with Images.sampler."
  )
}
