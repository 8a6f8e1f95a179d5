/** A program with raw handles that names no type of WebGPU: it compiles with any declarations of it, and with none. */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { type ImageLike, Images } from "effect-gpu-pool/images"
import { WebGpu, type WebGpuApi, WebGpuCharacteristics, type WebGpuHandle } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const pool = BufferPool.layer().pipe(
  Layer.provideMerge(WebGpu.layer({ powerPreference: "high-performance", label: "a device" }))
)

export const from = (gpu: WebGpuApi.Gpu) => WebGpu.layerFrom(gpu, { forceFallbackAdapter: true })
export const fromHandle = (gpu: WebGpuHandle.Gpu) => WebGpu.layerFrom(gpu)

export const clear = Effect.fnUntraced(function*(lease: BufferPool.PooledBuffer) {
  const { device, queue } = yield* WebGpu.WebGpu
  const buffer = yield* WebGpu.handle(lease)
  yield* CommandQueue.flush
  const encoder = device.createCommandEncoder()
  encoder.clearBuffer(buffer)
  queue.submit([encoder.finish()])
})

export const bind = Effect.fnUntraced(function*(lease: BufferPool.PooledBuffer, image: ImageLike.ImageLike) {
  const { device } = yield* WebGpu.WebGpu
  const layout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility: 4, buffer: { type: "storage" } },
      { binding: 1, visibility: 4, texture: { viewDimension: "2d" } },
      { binding: 2, visibility: 4, sampler: {} }
    ]
  })
  const view = (yield* WebGpu.texture(image)).createView()
  return device.createBindGroup({
    layout,
    entries: [
      { binding: 0, resource: yield* WebGpu.binding(lease) },
      { binding: 1, resource: view },
      { binding: 2, resource: device.createSampler({ magFilter: "linear" }) }
    ]
  })
})

export const adopted = Effect.gen(function*() {
  const { adapter, device, handleUnsafe, queue, textureUnsafe } = yield* WebGpu.WebGpu
  const buffer = yield* WebGpu.adopt(device.createBuffer({ size: 16, usage: 0x8c }), { takeOver: true })
  const image = yield* WebGpu.adoptImage(
    device.createTexture({ size: { width: 4, height: 4 }, format: "rgba8unorm", usage: 0x3 })
  )
  queue.writeBuffer(yield* handleUnsafe(buffer), 0, new Float32Array(4))
  const { format, width } = yield* textureUnsafe(image)
  yield* Images.read(image, Uint8Array)
  const { localMemoryBytes } = yield* WebGpuCharacteristics.characteristics
  return [
    yield* CommandQueue.read(buffer, Float32Array),
    format,
    width,
    adapter?.info.vendor,
    localMemoryBytes
  ] as const
}).pipe(Effect.scoped)

// @ts-expect-error What cannot give an adapter is no GPU object.
export const noGpu = WebGpu.layerFrom({})
// @ts-expect-error A texture is no buffer.
export const noBuffer = (texture: WebGpuHandle.Texture) => WebGpu.adopt(texture)
// @ts-expect-error WebGPU has two preferences.
export const noPreference = WebGpu.layer({ powerPreference: "medium" })
