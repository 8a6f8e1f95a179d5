/** Globals of WebGPU's names that are something else: the handles keep the library's types then. */
import type { WebGpuApi, WebGpuHandle } from "effect-gpu-pool/webgpu"
import type { Same } from "./same.js"

declare global {
  var GPUSampler: unknown
  var GPUBindGroup: { readonly prototype: { readonly name: string } }
}

export const same: readonly [
  Same<WebGpuHandle.Sampler, WebGpuApi.Sampler>,
  Same<WebGpuHandle.BindGroup, WebGpuApi.Labelled>
] = [true, true]
