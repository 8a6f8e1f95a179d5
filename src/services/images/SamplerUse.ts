/**
 * Which samplers a device can use.
 *
 * @internal
 */
import { type DeviceInfo, format } from "../../domain/DeviceInfo.ts"
import { ForeignDevice, type GpuError, make as makeError, Released } from "../../domain/GpuError.ts"
import type { DeviceSampler } from "../device/DeviceSampler.ts"

/** Why a sampler cannot be used on the device `info`, or `undefined`. */
export const problem = (operation: string, sampler: DeviceSampler, info: DeviceInfo): GpuError | undefined => {
  const label = undefined
  if (sampler.owner !== info) {
    const [owner, own] = [format(sampler.owner), format(info)]
    const expected = owner === own ? `another opening of ${own}` : own
    return makeError(new ForeignDevice({ operation, label, owner, expected, what: "sampler" }))
  }
  return sampler.destroyed
    ? makeError(new Released({ operation, label, size: 0, why: "released", what: "sampler" }))
    : undefined
}
