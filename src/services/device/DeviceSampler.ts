/**
 * One sampler on a device. Only the backend that made it can look into it.
 *
 * @since 0.1.0
 */
import * as Equal from "effect/Equal"
import { inOneLine, showing, state } from "../../domain/arguments/Showing.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { choosesLevels, type Resolved } from "../../domain/images/SamplerOptions.ts"
import { DriverObject } from "./DriverObject.ts"

/**
 * A sampler as the driver gave it: around a GPUSampler, a cl_sampler, or the options alone. Programs get it from
 * `Images.sampler`. Two of them are equal (`Equal.equals`) when they are the same driver object, not when they have the
 * same options.
 *
 * **Example** (What a sampler does)
 *
 * ```ts
 * import type { DeviceSampler } from "effect-gpu-pool/backend"
 *
 * const isSmooth = (sampler: DeviceSampler.DeviceSampler) => sampler.options.filter === "linear"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export abstract class DeviceSampler extends DriverObject {
  /** @internal */
  override readonly what = "sampler"
  readonly options: Resolved

  constructor(owner: DeviceInfo, options: Resolved) {
    super(owner)
    this.options = options
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return that instanceof DeviceSampler && this.identity === that.identity
  }
}

showing<DeviceSampler>(({ destroyed, options, owner }) =>
  inOneLine("DeviceSampler", undefined, [
    options.filter,
    options.addressing,
    options.normalizedCoordinates ? "coordinates from 0 to 1" : "coordinates in elements",
    ...(choosesLevels(options)
      ? [`mip filter ${options.mipFilter}`, `levels ${options.lodMin} to ${options.lodMax}`]
      : []),
    state(destroyed ? "released" : undefined, owner)
  ])
)(DeviceSampler.prototype)
