/** A program with declarations of WebGPU, from wherever: what it gives and what it gets are of its own types. */
import type { BufferPool } from "effect-gpu-pool"
import type { ImageLike } from "effect-gpu-pool/images"
import { WebGpu, type WebGpuHandle } from "effect-gpu-pool/webgpu"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Same } from "./same.js"

type Service = Context.Service.Shape<typeof WebGpu.WebGpu>
type Answer<F extends (...args: Array<never>) => Effect.Effect<unknown, unknown, unknown>> = Effect.Success<
  ReturnType<F>
>

export const same: readonly [
  gpu: Same<Service["gpu"], GPU | undefined>,
  adapter: Same<Service["adapter"], GPUAdapter | undefined>,
  device: Same<Service["device"], GPUDevice>,
  queue: Same<Service["queue"], GPUQueue>,
  buffer: Same<Answer<typeof WebGpu.handle>, GPUBuffer>,
  texture: Same<Answer<typeof WebGpu.texture>, GPUTexture>,
  bound: Same<Answer<typeof WebGpu.binding>["buffer"], GPUBuffer>
] = [true, true, true, true, true, true, true]

/** Those that only a program's signatures name. */
export const others: readonly [
  Same<WebGpuHandle.AdapterInfo, GPUAdapterInfo>,
  Same<WebGpuHandle.BindGroup, GPUBindGroup>,
  Same<WebGpuHandle.BindGroupLayout, GPUBindGroupLayout>,
  Same<WebGpuHandle.CommandEncoder, GPUCommandEncoder>,
  Same<WebGpuHandle.ComputePassEncoder, GPUComputePassEncoder>,
  Same<WebGpuHandle.ComputePipeline, GPUComputePipeline>,
  Same<WebGpuHandle.Sampler, GPUSampler>,
  Same<WebGpuHandle.ShaderModule, GPUShaderModule>,
  Same<WebGpuHandle.TextureFormat, GPUTextureFormat>,
  Same<WebGpuHandle.TextureView, GPUTextureView>
] = [true, true, true, true, true, true, true, true, true, true]

export const from = (gpu: GPU) => WebGpu.layerFrom(gpu)
export const fromDevice = (device: GPUDevice) => WebGpu.layerFromDevice(device)
export const adopt = (buffer: GPUBuffer) => WebGpu.adopt(buffer)
export const adoptImage = (texture: GPUTexture) => WebGpu.adoptImage(texture)

export const bindVertices = (pass: GPURenderPassEncoder, lease: BufferPool.PooledBuffer) =>
  Effect.map(WebGpu.handle(lease), (buffer) => pass.setVertexBuffer(0, buffer))

export const bind = (layout: GPUBindGroupLayout, lease: BufferPool.PooledBuffer) =>
  Effect.gen(function*() {
    const { device } = yield* WebGpu.WebGpu
    const resource: GPUBufferBinding = yield* WebGpu.binding(lease)
    return device.createBindGroup({ layout, entries: [{ binding: 0, resource }] })
  })

export const draw = (image: ImageLike.ImageLike, pipeline: GPURenderPipelineDescriptor) =>
  Effect.gen(function*() {
    const { device, queue } = yield* WebGpu.WebGpu
    const encoder: GPUCommandEncoder = device.createCommandEncoder()
    const view: GPUTextureView = (yield* WebGpu.texture(image)).createView()
    const pass = encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] })
    pass.setPipeline(device.createRenderPipeline(pipeline))
    pass.end()
    queue.submit([encoder.finish()])
  })
