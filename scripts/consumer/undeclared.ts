/** A program without declarations of WebGPU: the handles have the members that the library itself calls. */
import { WebGpu, type WebGpuApi, type WebGpuHandle } from "effect-gpu-pool/webgpu"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Same } from "./same.js"

type Service = Context.Service.Shape<typeof WebGpu.WebGpu>

export const same: readonly [
  gpu: Same<Service["gpu"], WebGpuApi.Gpu | undefined>,
  adapter: Same<Service["adapter"], WebGpuApi.Adapter | undefined>,
  device: Same<Service["device"], WebGpuApi.Device>,
  queue: Same<Service["queue"], WebGpuApi.Queue>,
  buffer: Same<Effect.Success<ReturnType<typeof WebGpu.handle>>, WebGpuApi.Buffer>,
  texture: Same<Effect.Success<ReturnType<typeof WebGpu.texture>>, WebGpuApi.Texture>,
  format: Same<WebGpuHandle.TextureFormat, string>
] = [true, true, true, true, true, true, true]

// @ts-expect-error Nothing brings declarations along.
export type NotDeclared = GPUBuffer

/** A double for tests. */
export const double: WebGpuApi.Gpu = { requestAdapter: () => Promise.resolve(null) }
export const layer = WebGpu.layerFrom(double)
