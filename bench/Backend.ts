/** The backends by name. */
import { type Layer, Schema } from "effect"
import type { GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"

export const Name = Schema.Literals(["host", "webgpu", "opencl"])

export type Name = typeof Name.Type

type Services = Device.Services

export const layers: { readonly [N in Name]: Layer.Layer<Services, GpuError.GpuError> } = {
  host: Host.layer(),
  webgpu: WebGpu.layer(),
  opencl: OpenCl.layer()
}
