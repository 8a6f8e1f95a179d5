/**
 * A program that shares a GPUDevice with other code, for many frames: the library fills a leased block, and the other
 * code's pipeline adds it to a sum in a buffer of its own. Then the library's layer closes, and the other code
 * continues. The program uses only the public API, so that it runs in a page too.
 */
import { BufferPool, CommandQueue, DeviceContext, Kernel, KernelArgument, type PoolStats } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface FramesReport {
  /** What the other code has counted and added up on the device, after the last frame and once more after the close. */
  readonly counted: number
  readonly sum: number
  /** The same after one more frame, without the library, after the layer's close. */
  readonly countedAfter: number
  /** How many errors the other code's handler received: while the layer was open, and in all. */
  readonly uncaptured: number
  readonly uncapturedAfter: number
  /**
   * Whether the other code's error scopes catch its own mistakes, and whether they caught anything in whole frames of
   * the library.
   */
  readonly catchesOwn: boolean
  readonly catchesOthers: boolean
  readonly stats: PoolStats.PoolStats
  /** Of the closed layer, by kind. */
  readonly driverObjects: Readonly<Record<string, number>>
  /** How often the library tried to destroy the other code's buffers. */
  readonly destroyed: number
}

const storage = 0x80
const copySrc = 0x4
const copyDst = 0x8
const mapRead = 0x1

const elements = 256

/** A mistake is made every so many frames. */
const mistakeEvery = 1000

const fillFrame = Kernel.make({
  name: "fillFrame",
  args: [KernelArgument.VectorArg("u32", "x", { access: "write" }), KernelArgument.ScalarArg("u32", "frame")],
  body: { wgsl: "x[i] = frame % 7u;" }
})

const adding = `
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: array<u32>;
@compute @workgroup_size(1) fn main() { total[0] += 1u; total[1] += x[0] + x[${elements - 1}]; }`

/** The other code, which does not use the library. */
class OtherCode {
  uncaptured = 0
  destroyed = 0
  readonly #device: GPUDevice
  readonly #total: GPUBuffer
  readonly #pipeline: GPUComputePipeline
  readonly #groups = new Map<GPUBuffer, GPUBindGroup>()

  constructor(device: GPUDevice) {
    this.#device = device
    this.#total = this.#own(device.createBuffer({ size: 8, usage: storage | copySrc | copyDst }))
    this.#pipeline = device.createComputePipeline({
      layout: "auto",
      compute: { module: device.createShaderModule({ code: adding }), entryPoint: "main" }
    })
    device.onuncapturederror = (event) => {
      event.preventDefault()
      this.uncaptured += 1
    }
  }

  /** Adds up a buffer on the device. */
  frame(x: GPUBuffer): void {
    const group = this.#groups.get(x) ?? this.#device.createBindGroup({
      layout: this.#pipeline.getBindGroupLayout(0),
      entries: [{ binding: 0, resource: { buffer: x, size: 4 * elements } }, {
        binding: 1,
        resource: { buffer: this.#total }
      }]
    })
    this.#groups.set(x, group)
    const encoder = this.#device.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.setPipeline(this.#pipeline)
    pass.setBindGroup(0, group)
    pass.dispatchWorkgroups(1)
    pass.end()
    this.#device.queue.submit([encoder.finish()])
  }

  /** A frame without the library. */
  frameOfItsOwn(): void {
    this.frame(this.#own(this.#device.createBuffer({ size: 4 * elements, usage: storage })))
  }

  /** Makes a mistake. */
  err(): void {
    this.#device.createBuffer({ size: 16, usage: 0 })
  }

  /** Whether an error scope around `act` catches an error. */
  async catches(act: () => unknown): Promise<boolean> {
    this.#device.pushErrorScope("validation")
    await act()
    return await this.#device.popErrorScope() !== null
  }

  async totals(): Promise<readonly [counted: number, sum: number]> {
    const staging = this.#device.createBuffer({ size: 8, usage: mapRead | copyDst })
    const encoder = this.#device.createCommandEncoder()
    encoder.copyBufferToBuffer(this.#total, 0, staging, 0, 8)
    this.#device.queue.submit([encoder.finish()])
    await staging.mapAsync(1)
    const [counted, sum] = new Uint32Array(staging.getMappedRange())
    staging.destroy()
    return [counted!, sum!]
  }

  #own(buffer: GPUBuffer): GPUBuffer {
    const destroy = buffer.destroy.bind(buffer)
    buffer.destroy = () => {
      this.destroyed += 1
      return destroy()
    }
    return buffer
  }
}

/** The report if neither disturbs the other. */
export const expectedReport = (frames: number): Omit<FramesReport, "stats"> => ({
  counted: frames,
  sum: Array.from({ length: frames }, (_, index) => 2 * (index % 7)).reduce((sum, value) => sum + value, 0),
  countedAfter: frames + 1,
  uncaptured: frames / mistakeEvery,
  uncapturedAfter: frames / mistakeEvery + 1,
  catchesOwn: true,
  catchesOthers: false,
  driverObjects: {},
  destroyed: 0
})

const frame = (other: OtherCode, index: number) =>
  Effect.scoped(Effect.gen(function*() {
    const x = yield* BufferPool.allocate(4 * elements)
    yield* CommandQueue.dispatch(fillFrame, { x, frame: index }, elements)
    const handle = yield* WebGpu.handle(x)
    yield* CommandQueue.flush
    yield* Effect.sync(() => other.frame(handle))
    if (index % mistakeEvery === 1) other.err()
    if (index % 100 === 0) yield* CommandQueue.finish
  }))

export const runFrames = async (device: GPUDevice, frames: number): Promise<FramesReport> => {
  const other = new OtherCode(device)
  let catchesOthers = false
  const program = Effect.gen(function*() {
    const { driverObjects } = yield* DeviceContext.DeviceContext
    for (let index = 0; index < frames; index++) {
      if (index % 250 !== 10) yield* frame(other, index)
      else {
        const context = yield* Effect.context<BufferPool.BufferPool | WebGpu.Services>()
        const caught = yield* Effect.promise(() =>
          other.catches(() => Effect.runPromiseWith(context)(frame(other, index)))
        )
        catchesOthers ||= caught
      }
    }
    return { stats: yield* BufferPool.stats, driverObjects }
  })
  const pooled = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layerFromDevice(device)))
  const { driverObjects, stats } = await Effect.runPromise(Effect.provide(program, pooled))
  const [counted, sum] = await other.totals()
  const { uncaptured } = other
  other.frameOfItsOwn()
  other.err()
  const catchesOwn = await other.catches(() => other.err())
  const [countedAfter] = await other.totals()
  return {
    counted,
    sum,
    countedAfter,
    uncaptured,
    uncapturedAfter: other.uncaptured,
    catchesOwn,
    catchesOthers,
    stats,
    driverObjects: driverObjects.liveByKind,
    destroyed: other.destroyed
  }
}
