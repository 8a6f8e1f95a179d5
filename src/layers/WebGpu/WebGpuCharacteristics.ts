/**
 * What the API says of an open WebGPU device, for kernels that are tuned to it.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import { WebGpu } from "./WebGpu.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

/**
 * What the device says. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface WebGpuCharacteristics {
  /** The fewest and the most work items that run in lockstep; `undefined` when the device does not say. */
  readonly simdGroupSize: { readonly least: number; readonly most: number } | undefined
  /** Memory that the items of a workgroup share. */
  readonly localMemoryBytes: number
  /** WGSL has no numbers of 64 bits. */
  readonly hasDoubleSupport: false
}

/** Drivers that do not know say 0. */
const simdGroupSize = ({ subgroupMaxSize, subgroupMinSize }: Partial<WebGpuHandle.AdapterInfo> = {}) =>
  subgroupMinSize ? { least: subgroupMinSize, most: subgroupMaxSize ?? subgroupMinSize } : undefined

/**
 * What the open device says. The rest of `OpenClCharacteristics` has no counterpart: WebGPU hides banks of local memory,
 * compilers and their caches from programs.
 *
 * **Example** (Tiles that fit)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { WebGpuCharacteristics } from "effect-gpu-pool/webgpu"
 *
 * const tile = Effect.map(
 *   WebGpuCharacteristics.characteristics,
 *   ({ localMemoryBytes }) => Math.floor(Math.sqrt(localMemoryBytes / 4))
 * )
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const characteristics: Effect.Effect<WebGpuCharacteristics, never, WebGpu> = WebGpu.useSync(
  ({ adapter, device }) => ({
    simdGroupSize: simdGroupSize(adapter?.info ?? device.adapterInfo),
    localMemoryBytes: device.limits.maxComputeWorkgroupStorageSize,
    hasDoubleSupport: false
  })
)
