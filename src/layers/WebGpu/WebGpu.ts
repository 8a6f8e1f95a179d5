/**
 * The WebGPU backend: Dawn in Node through npm `webgpu`, or the browser's own.
 *
 * @since 0.1.0
 */
/// <reference types="@webgpu/types" preserve="true" />
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as BufferLike from "../../services/BufferLike.ts"
import * as CommandQueue from "../../services/CommandQueue.ts"
import { DeviceContext } from "../../services/DeviceContext.ts"
import * as KernelCache from "../../services/KernelCache.ts"
import { browserGpu, nodeGpu } from "./NodeGpu.ts"
import * as OpenDevice from "./OpenDevice.ts"
import { gpuOf, roundUp4 } from "./WebGpuBuffer.ts"
import { WebGpuDevice } from "./WebGpuDevice.ts"
import * as WebGpuKernel from "./WebGpuKernel.ts"
import * as WebGpuQueue from "./WebGpuQueue.ts"

/**
 * The service: raw handles of the open device, for programs that also call WebGPU themselves. Both layers of this
 * module provide it next to the services that every backend has.
 *
 * **Details**
 *
 * Work that a program submits itself runs in queue order with the library's once what the library has recorded is
 * submitted: run `CommandQueue.flush` first, then call `device.queue.submit` in the same step, before another fiber
 * records. A lease may be released right after that submit. Handles are valid until the lease is released; destroying
 * one yourself makes later commands on its block fail.
 *
 * Error scopes belong to the whole device: push and pop yours in one synchronous step. An uncaptured error of your own
 * calls fails the next `CommandQueue.finish` or `read`.
 *
 * **Example** (Submitting a command buffer of your own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const clear = Effect.fnUntraced(function*(lease: PooledBuffer.PooledBuffer) {
 *   const { device, queue } = yield* WebGpu.WebGpu
 *   const buffer = yield* WebGpu.handle(lease)
 *   yield* CommandQueue.flush
 *   const encoder = device.createCommandEncoder()
 *   encoder.clearBuffer(buffer)
 *   queue.submit([encoder.finish()])
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class WebGpu extends Context.Service<WebGpu, {
  readonly gpu: GPU
  readonly adapter: GPUAdapter
  readonly device: GPUDevice
  readonly queue: GPUQueue
  /** See {@link handle}; the answer is an Exit, for use within one step. */
  readonly handleUnsafe: (buffer: BufferLike.BufferLike) => Exit.Exit<GPUBuffer, GpuError>
}>()("effect-gpu-pool/WebGpu") {}

/**
 * How to choose and name the device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceOptions {
  /** Which adapter to prefer where there are several. */
  readonly powerPreference?: GPUPowerPreference | undefined
  /** Asks for a software adapter. */
  readonly forceFallbackAdapter?: boolean | undefined
  /** The device's label, in the driver's own messages. */
  readonly label?: string | undefined
  /** How many compiled kernels are kept, 256 without it. */
  readonly kernelCacheCapacity?: number | undefined
}

/**
 * How to open a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends DeviceOptions {
  /**
   * Flags for Dawn in Node, as `backend=null` (a device that runs nothing, with 512 MiB of pretended memory) or
   * `adapter=name`. A browser has none.
   */
  readonly flags?: ReadonlyArray<string> | undefined
}

/**
 * What a WebGPU layer provides.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = DeviceContext | CommandQueue.CommandQueue | KernelCache.KernelCache | WebGpu

/**
 * Opens a WebGPU device: the browser's when `navigator.gpu` is there, else Dawn's through npm `webgpu`, an optional
 * peer dependency that is loaded only now. Asks for the adapter's largest buffer and compute limits, and for the
 * features `shader-f16`, `subgroups` and `timestamp-query` where the adapter has them: kernels of the library need none
 * of them, they are there for shaders and queries that a program writes itself on the raw `device`.
 *
 * Fails with DeviceUnavailable when the package is not installed or no adapter answers, and says what to do. Closing
 * the layer destroys the device and every buffer that is left.
 *
 * **Example** (A pool on the default adapter)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer({ powerPreference: "high-performance" })))
 * ```
 *
 * @see https://www.w3.org/TR/webgpu/#initialization
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<Services, GpuError> =>
  Layer.effectContext(Effect.flatMap(
    Effect.suspend(() => {
      const gpu = browserGpu()
      return gpu === undefined ? nodeGpu(options?.flags ?? []) : Effect.succeed(gpu)
    }),
    (gpu) => make(gpu, options ?? {})
  ))

/**
 * Opens a device of any GPU object: `navigator.gpu`, one that npm `webgpu` created with options of your own, or a
 * double for tests. Otherwise as {@link layer}.
 *
 * **Example** (A page's GPU)
 *
 * ```ts
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const pageLayer = (gpu: GPU) => WebGpu.layerFrom(gpu, { label: "my page" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFrom = (gpu: GPU, options?: DeviceOptions): Layer.Layer<Services, GpuError> =>
  Layer.effectContext(make(gpu, options ?? {}))

const make = Effect.fnUntraced(function*(
  gpu: GPU,
  options: DeviceOptions
): Effect.fn.Return<Context.Context<Services>, GpuError, Scope.Scope> {
  const opened = yield* OpenDevice.open(gpu, options)
  const cache = yield* KernelCache.make(WebGpuKernel.compiler(opened), {
    status: opened.status,
    info: opened.info,
    capacity: options.kernelCacheCapacity
  })
  const driver = yield* WebGpuQueue.make(opened)
  yield* Effect.addFinalizer(() => Effect.sync(() => opened.status.lose("its layer is closed")))
  const device = new WebGpuDevice(opened)
  return Context.make(DeviceContext, device).pipe(
    Context.add(KernelCache.KernelCache, cache),
    Context.add(CommandQueue.CommandQueue, CommandQueue.fromDriver({ driver, device, cache })),
    Context.add(WebGpu, service(opened))
  )
})

const service = ({ adapter, device, gpu, info }: OpenDevice.OpenDevice): WebGpu["Service"] =>
  WebGpu.of({
    gpu,
    adapter,
    device,
    queue: device.queue,
    handleUnsafe: (buffer) => {
      const problem = BufferLike.problem("WebGpu.handle", buffer, info)
      if (problem !== undefined) return Exit.fail(problem)
      const memory = BufferLike.deviceBuffer(buffer)
      return memory === undefined
        ? Exit.fail(
          invalidRequest("WebGpu.handle", "the lease has no bytes, so no GPUBuffer", "Allocate at least one byte.")
        )
        : Exit.succeed(gpuOf(memory))
    }
  })

/**
 * The GPUBuffer of a lease or device buffer. It has the block's size, which may be more than was asked for: bind it
 * with {@link binding}. Fails with BufferReleased, ForeignBuffer, or InvalidRequest for a zero-byte lease.
 *
 * **Example** (Using a lease as a vertex buffer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const bindVertices = (pass: GPURenderPassEncoder, lease: PooledBuffer.PooledBuffer) =>
 *   Effect.map(WebGpu.handle(lease), (buffer) => pass.setVertexBuffer(0, buffer))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const handle = (buffer: BufferLike.BufferLike): Effect.Effect<GPUBuffer, GpuError, WebGpu> =>
  WebGpu.use((gpu) => gpu.handleUnsafe(buffer))

/**
 * A binding of the bytes that were asked for, rounded up to the multiple of 4 that WebGPU binds: so `arrayLength` in a
 * shader answers for the lease and not for its larger block. Errors as {@link handle}.
 *
 * **Example** (A bind group of your own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { PooledBuffer } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const bind = Effect.fnUntraced(function*(layout: GPUBindGroupLayout, lease: PooledBuffer.PooledBuffer) {
 *   const { device } = yield* WebGpu.WebGpu
 *   const resource = yield* WebGpu.binding(lease)
 *   return device.createBindGroup({ layout, entries: [{ binding: 0, resource }] })
 * })
 * ```
 *
 * @see https://www.w3.org/TR/webgpu/#dictdef-gpubufferbinding
 * @category accessors
 * @since 0.1.0
 */
export const binding = (
  buffer: BufferLike.BufferLike
): Effect.Effect<GPUBufferBinding & { readonly size: number }, GpuError, WebGpu> =>
  Effect.map(handle(buffer), (gpu) => ({ buffer: gpu, offset: 0, size: roundUp4(buffer.size) }))
