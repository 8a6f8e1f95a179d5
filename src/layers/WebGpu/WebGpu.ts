/**
 * The WebGPU backend: Dawn in Node through npm `webgpu`, or the browser's own.
 *
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as Label from "../../domain/arguments/Label.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type * as SamplerOptions from "../../domain/images/SamplerOptions.ts"
import * as Adoption from "../../services/backend/Adoption.ts"
import * as Device from "../../services/backend/Device.ts"
import type * as BufferLike from "../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../services/buffers/BufferMemory.ts"
import { type ConfigOf, layerOfConfig, layerOfOptions } from "../../services/calls/LayerConfig.ts"
import { validated } from "../../services/calls/Validated.ts"
import type { DeviceBuffer } from "../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../services/device/DeviceImage.ts"
import type { DeviceSampler } from "../../services/device/DeviceSampler.ts"
import * as KernelCache from "../../services/device/KernelCache.ts"
import { CurrentKernelTimes } from "../../services/device/queues/KernelTimes.ts"
import { releaseInOrderUnsafe } from "../../services/device/ReleaseInOrder.ts"
import type * as ImageLike from "../../services/images/ImageLike.ts"
import { rectangles } from "./commands/RectangleCommands.ts"
import * as ImageDriver from "./images/ImageDriver.ts"
import { compiler } from "./kernels/WebGpuCompiler.ts"
import { later } from "./LazyPart.ts"
import { givenGpu, processGpu } from "./opening/NodeGpu.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"
import * as Opening from "./opening/Opening.ts"
import * as OpenOptions from "./opening/OpenOptions.ts"
import * as SharedDevice from "./opening/SharedDevice.ts"
import { own, serviceOf, WebGpu } from "./OwnDevice.ts"
import type * as WebGpuApi from "./WebGpuApi.ts"
import { gpuOf, roundUp4, usageOf } from "./WebGpuBuffer.ts"
import type { WebGpuDevice } from "./WebGpuDevice.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

export type { DeviceOptions, Options, SharedOptions } from "./opening/OpenOptions.ts"

export { WebGpu } from "./OwnDevice.ts"

/** Editors show `Services` by this name, which tells the backends apart. */
type WebGpuServices = Device.Services | WebGpu

/**
 * What a WebGPU layer provides.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = WebGpuServices

/**
 * Opens a WebGPU device: the browser's or Deno's own when `navigator.gpu` is there, else Dawn's through npm `webgpu`, an
 * optional peer dependency that is loaded only now. Asks for the adapter's largest buffer, compute and texture limits. Where the
 * adapter has them it also asks for the features `shader-f16`, for f16, `float32-filterable`, `bgra8unorm-storage` and
 * `texture-formats-tier1`, for images, `timestamp-query`, for the times of kernels, and `subgroups`, which the library does not
 * use: it is there for shaders that a program writes itself on the raw `device`.
 *
 * Fails with DeviceUnavailable when a page has no `navigator.gpu`, when the package is not installed, or when no adapter
 * answers, and says what to do. Closing
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
export const layer = (options?: OpenOptions.Options): Layer.Layer<Services, GpuError> =>
  layerOfOptions(
    "WebGpu.layer",
    OpenOptions.Options,
    options,
    (given) => Effect.flatMap(processGpu(given.flags ?? []), (gpu) => Opening.open(gpu, given, services))
  )

/**
 * The same as {@link layer}, with options that come from configuration.
 *
 * **Example** (The adapter from the environment)
 *
 * ```ts
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * // From webgpu_powerPreference, webgpu_forceFallbackAdapter, webgpu_label and webgpu_kernelCacheCapacity.
 * const gpu = WebGpu.layerConfig("webgpu")
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: ConfigOf<OpenOptions.Options>
): Layer.Layer<Services, GpuError | Config.ConfigError> =>
  layerOfConfig("WebGpu.layerConfig", config, OpenOptions.Options, layer)

/**
 * Opens a device of any GPU object: `navigator.gpu`, one that npm `webgpu` created with options of your own, or a
 * double for tests, which needs what `WebGpuApi` lists; the raw handles are then those of the double. Otherwise as
 * {@link layer}. A page without `navigator.gpu` can pass it as it is, `undefined`: the layer then fails with
 * DeviceUnavailable, which says why there is none.
 *
 * **Example** (A page's GPU)
 *
 * ```ts
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const pageLayer = (gpu: GPU | undefined) => WebGpu.layerFrom(gpu, { label: "my page" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFrom = (
  gpu: WebGpuApi.Gpu | undefined,
  options?: OpenOptions.DeviceOptions
): Layer.Layer<Services, GpuError> =>
  layerOfOptions(
    "WebGpu.layerFrom",
    OpenOptions.DeviceOptions,
    options,
    (given) => Effect.flatMap(givenGpu(gpu), (gpu) => Opening.open(gpu, given, services))
  )

/**
 * Uses a device that other code has opened and goes on using: that of onnxruntime-web, TypeGPU, three.js, or code of the
 * program's own. A double for tests needs what `WebGpuApi` lists, without `destroy` and `onuncapturederror`, which the library
 * does not touch here.
 *
 * The device stays as it is. It is never destroyed, its `onuncapturederror` and its listeners are not touched, and
 * errors of the library's calls are its own: each call is in error scopes that are pushed and popped within one step,
 * so scopes that the other code has open do not see them, nor the library theirs. The library learns of a loss by
 * `device.lost`. Closing the layer submits what was recorded, then destroys the buffers and images that the library
 * made or took over, and nothing else. Several layers can use one device, each with pools of its own.
 *
 * The device has the features and limits that were asked for when it was opened. Without `shader-f16` kernels have no
 * `f16`; without `float32-filterable`, `bgra8unorm-storage` and `texture-formats-tier1` some images are missing. What therefore
 * cannot run is Unsupported, with the name of the feature to request.
 *
 * Fails with DeviceLost for a device that is lost, and with InvalidRequest for what is no GPUDevice, as a promise of one.
 *
 * **Gotchas**
 *
 * Errors of the other code go to its own handlers, so no `CommandQueue.finish` fails with them. `finish` also waits for what
 * the other code has submitted before. With npm `webgpu` the program keeps the object that `create()` returned: Dawn crashes when it is
 * collected before the device.
 *
 * **Example** (A pool on a device that is there already)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const pooled = (device: GPUDevice) =>
 *   BufferPool.layer({ maxBytes: "256 MiB" }).pipe(Layer.provideMerge(WebGpu.layerFromDevice(device)))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFromDevice = (
  device: Omit<WebGpuApi.Device, "destroy" | "onuncapturederror">,
  options?: OpenOptions.SharedOptions
): Layer.Layer<Services, GpuError> =>
  layerOfOptions(
    "WebGpu.layerFromDevice",
    OpenOptions.SharedOptions,
    options,
    (given) =>
      Effect.flatMap(SharedDevice.open("WebGpu.layerFromDevice", device as WebGpuHandle.Device), (opened) =>
        services(opened, given))
  )

const services = Effect.fnUntraced(function*(
  opened: OpenDevice,
  given: OpenOptions.SharedOptions
): Effect.fn.Return<Context.Context<Services>, GpuError, Scope.Scope> {
  const cache = yield* KernelCache.make(compiler(opened), {
    status: opened.status,
    info: opened.info,
    capacity: given.kernelCacheCapacity
  })
  const { device, queue } = yield* Opening.memoryOf(opened, later, rectangles)
  const images = ImageDriver.imagesOf(opened, queue)
  const driver = ImageDriver.make(opened, images)
  const parts = { loadParts: later.use(() => Effect.void), ...later.calls(["partUnsafe"]) }
  const kernelTimes = yield* CurrentKernelTimes
  return Context.add(
    Device.fromDrivers({ device: Object.assign(device, parts), cache, queue, images: driver, kernelTimes }),
    WebGpu,
    serviceOf(opened, { device, queue, images, driver })
  )
})

/**
 * The GPUBuffer of a lease or device buffer. It has the block's size, which may be more than the requested one. A
 * sub-region has the GPUBuffer of the whole buffer, from `origin` on: bind it with {@link binding}. Fails with
 * Released, ForeignDevice, or InvalidRequest for a buffer of no bytes; and with Unsupported for a lease of a pool with
 * `PoolStrategy.arena` that is a part of a GPUBuffer, for which there is {@link binding}.
 *
 * **Gotchas**
 *
 * Between two steps of a fiber another fiber may end the lease, and the handle is then that of the next owner's memory.
 * Where another fiber could do so, use the handle in the step that gets it: {@link submit} does that, or `handleUnsafe` of the
 * service, which returns it at once. Commands that are submitted in that step come before those of the next owner.
 *
 * The device does not have the commands yet that the library has recorded: run `CommandQueue.flush` before a submit of your own,
 * or use {@link submit}.
 *
 * **Example** (Using a lease as a vertex buffer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const bindVertices = (pass: GPURenderPassEncoder, lease: BufferPool.PooledBuffer) =>
 *   Effect.map(WebGpu.handle(lease), (buffer) => pass.setVertexBuffer(0, buffer))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const handle = (buffer: BufferLike.BufferLike): Effect.Effect<WebGpuHandle.Buffer, GpuError, WebGpu> =>
  WebGpu.use((gpu) => validated("WebGpu.handle", () => gpu.handleUnsafe(buffer)))

/**
 * A binding of the requested bytes, rounded up to the multiple of 4 that WebGPU binds: so `arrayLength` in a shader is
 * the lease's length and not that of its larger block. Fails with Released, ForeignDevice, or InvalidRequest for a buffer
 * of no bytes.
 *
 * **Gotchas**
 *
 * Leases of a pool with `PoolStrategy.arena` are parts of few GPUBuffers. WebGPU refuses a dispatch that reads one part of a
 * GPUBuffer (`read`) and writes another (`read_write`), and a copy within one. The library's own commands copy through
 * memory of their own then; in your commands bind both parts as `read_write`, or allocate them `apart`.
 *
 * **Example** (A bind group of your own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferPool } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const bind = Effect.fnUntraced(function*(layout: GPUBindGroupLayout, lease: BufferPool.PooledBuffer) {
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
): Effect.Effect<WebGpuHandle.BufferBinding, GpuError, WebGpu> =>
  Effect.flatMap(
    own,
    ({ device }) => validated("WebGpu.binding", (operation) => Exit.succeed(bindingOf(operation, buffer, device)))
  )

/** Throws the error of a buffer that cannot be used. */
const bindingOf = (
  operation: string,
  buffer: BufferLike.BufferLike,
  device: WebGpuDevice
): WebGpuHandle.BufferBinding => {
  const memory = valid(BufferMemory.some(operation, buffer, device))
  return { buffer: gpuOf(memory), offset: memory.origin, size: roundUp4(buffer.size) }
}

/**
 * Submits commands of the program's own on buffers of the library. In one step it submits what the library has recorded, calls
 * `encode` with a binding of each buffer, and submits the command buffers that `encode` returns: so they see all earlier commands, and no
 * other fiber can end a lease or record between. `encode` may also return none, and only call the device.
 *
 * Fails as {@link binding} does, with DeviceLost or DriverError. An error of the device in this step fails the next `finish` or `read`, with
 * the `label` among its commands.
 *
 * **Example** (A pass of your own after a write)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const negate = Effect.fnUntraced(function*(pipeline: GPUComputePipeline, numbers: Float32Array<ArrayBuffer>) {
 *   const x = yield* BufferPool.allocate(numbers.byteLength)
 *   yield* CommandQueue.write(x, numbers)
 *   yield* WebGpu.submit([x], ([resource], { device }) => {
 *     const encoder = device.createCommandEncoder()
 *     const pass = encoder.beginComputePass()
 *     pass.setPipeline(pipeline)
 *     pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [{ binding: 0, resource }] }))
 *     pass.dispatchWorkgroups(Math.ceil(numbers.length / 64))
 *     pass.end()
 *     return [encoder.finish()]
 *   }, { label: "negate" })
 *   return yield* CommandQueue.read(x, Float32Array)
 * }, Effect.scoped)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const submit = <const Buffers extends ReadonlyArray<BufferLike.BufferLike>>(
  buffers: Buffers,
  encode: (
    bindings: { readonly [At in keyof Buffers]: WebGpuHandle.BufferBinding },
    gpu: WebGpu["Service"]
  ) => Parameters<WebGpuHandle.Queue["submit"]>[0],
  options?: SubmitOptions
): Effect.Effect<void, GpuError, WebGpu> =>
  Effect.flatMap(own, ({ device, queue }) =>
    WebGpu.use((gpu) =>
      validated("WebGpu.submit", (operation) => {
        valid(Label.problem(operation, options?.label))
        const bindings = buffers.map((buffer) => bindingOf(operation, buffer, device)) as {
          [At in keyof Buffers]: WebGpuHandle.BufferBinding
        }
        return queue.write("GPUQueue.submit", () => options?.label ?? operation, () => {
          gpu.queue.submit(encode(bindings, gpu))
        })
      })
    ))

/**
 * How {@link submit} submits.
 *
 * @category models
 * @since 0.1.0
 */
export interface SubmitOptions {
  /** What errors call the commands; `WebGpu.submit` without it. */
  readonly label?: string | undefined
}

/**
 * How a GPUBuffer or a GPUTexture is taken over.
 *
 * @category models
 * @since 0.1.0
 */
export interface AdoptOptions {
  /**
   * Whether the program hands the object over: it is destroyed when the scope closes. By default the program keeps it.
   */
  readonly takeOver?: boolean | undefined
  /** All that the GPUBuffer allows when left out; it can be less. */
  readonly usage?: BufferUsage.BufferUsage | undefined
  /** Its name in errors; the object's own label when left out. */
  readonly label?: string | undefined
}

/**
 * A buffer around a GPUBuffer that the program has made on the raw `device`, until the scope closes. Every operation takes
 * it. Adopting one GPUBuffer twice gives buffers that are equal (`Equal.equals`). They count as one where operations compare,
 * and so do a lease and what is adopted of its handle.
 *
 * Fails with InvalidRequest for what is no GPUBuffer of at least 4 bytes, is mapped, or has no usage but mapping; and with
 * DeviceLost. A GPUBuffer of another device makes the commands on it fail.
 *
 * **Example** (Reading what a shader of your own has written)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const counts = Effect.fnUntraced(function*(theirs: GPUBuffer) {
 *   const buffer = yield* WebGpu.adopt(theirs)
 *   return yield* CommandQueue.read(buffer, Uint32Array)
 * }, Effect.scoped)
 * ```
 *
 * @see pyopencl.MemoryObject.from_int_ptr
 * @category constructors
 * @since 0.1.0
 */
export const adopt = (
  gpu: WebGpuApi.Buffer,
  options?: AdoptOptions
): Effect.Effect<DeviceBuffer, GpuError, WebGpu | Scope.Scope> =>
  Effect.flatMap(own, ({ device, queue }) =>
    Adoption.acquire(
      "WebGpu.adopt",
      device.status,
      options,
      (options) => adoptUnsafe(device, gpu as WebGpuHandle.Buffer, options),
      (buffer) => releaseInOrderUnsafe(device, queue, buffer)
    ))

const adoptUnsafe = (
  device: WebGpuDevice,
  gpu: WebGpuHandle.Buffer,
  { label, takeOver = false, usage }: AdoptOptions
): Exit.Exit<DeviceBuffer, GpuError> => {
  const problem = adoptionProblem(gpu) ?? usageProblem(usage ?? usageOf(gpu), usageOf(gpu))
  if (problem !== undefined) return Exit.fail(problem)
  // Accesses may end at the next multiple of 4, which must be the buffer's then.
  const size = gpu.size - gpu.size % 4
  const called = label ?? (gpu.label === "" ? undefined : gpu.label)
  return Exit.succeed(device.adoptUnsafe(gpu, size, usage ?? usageOf(gpu), called, !takeOver))
}

const notAdopted = (problem: string, hint: string): GpuError => invalidRequest("WebGpu.adopt", problem, hint)

const adoptionProblem = (gpu: WebGpuHandle.Buffer): GpuError | undefined => {
  const isBuffer = typeof gpu === "object" && gpu !== null && typeof gpu.size === "number" &&
    typeof gpu.usage === "number"
  const problem = !isBuffer
    ? "the value given for a GPUBuffer is not a GPUBuffer"
    : gpu.size < 4
    ? `the GPUBuffer has ${gpu.size} bytes`
    : gpu.mapState !== "unmapped"
    ? `the GPUBuffer is ${gpu.mapState}`
    : undefined
  return problem === undefined ? undefined : notAdopted(problem, "Pass an unmapped GPUBuffer of this device.")
}

const usageProblem = (usage: BufferUsage.BufferUsage, whole: BufferUsage.BufferUsage): GpuError | undefined => {
  const problem = BufferUsageRules.problem(usage)
  if (problem !== undefined) {
    return notAdopted(problem, "Pass a GPUBuffer that commands can use, and flags of BufferUsage.")
  }
  if (BufferUsageRules.isWithin(usage, whole)) return undefined
  return notAdopted(
    `the usage ${BufferUsage.format(usage)} is beyond the GPUBuffer's ${BufferUsage.format(whole)}`,
    "Name flags of BufferUsage that the GPUBuffer has, or leave usage out for all of them."
  )
}

/**
 * The GPUTexture of an image, pooled or not, for views and passes of your own. Fails with Released or
 * ForeignDevice.
 *
 * **Example** (A view to bind)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { ImageLike } from "effect-gpu-pool/images"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const view = (image: ImageLike.ImageLike) => Effect.map(WebGpu.texture(image), (texture) => texture.createView())
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const texture = (image: ImageLike.ImageLike): Effect.Effect<WebGpuHandle.Texture, GpuError, WebGpu> =>
  later.use(() => WebGpu.use((gpu) => validated("WebGpu.texture", () => gpu.textureUnsafe(image))))

/**
 * An image around a GPUTexture that the program has made on the raw `device`, until the scope closes; shape, format and
 * usage are the texture's own, and a 2-D texture of several layers is a `2dArray`. Every operation of `Images` and every
 * dispatch takes it. Adopting one GPUTexture twice, or the texture of an image of this library, gives images that are equal
 * (`Equal.equals`) and count as one where operations compare.
 *
 * Fails with InvalidRequest for what is no GPUTexture, or has no usage but rendering; Unsupported for a format that images
 * do not have, mip levels, or several samples; and with DeviceLost. A GPUTexture of another device, or one that is destroyed,
 * makes the commands on it fail.
 *
 * **Example** (Reading what a render pass of your own has drawn)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images } from "effect-gpu-pool/images"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const pixels = (theirs: GPUTexture) =>
 *   Effect.scoped(Effect.flatMap(WebGpu.adoptImage(theirs), (image) => Images.read(image, Uint8Array)))
 * ```
 *
 * @see pyopencl.MemoryObject.from_int_ptr
 * @category constructors
 * @since 0.1.0
 */
export const adoptImage = (
  gpu: WebGpuApi.Texture,
  options?: Omit<AdoptOptions, "usage">
): Effect.Effect<DeviceImage, GpuError, WebGpu | Scope.Scope> =>
  Effect.flatMap(
    own,
    (opened) => later.use(({ adoptImage }) => adoptImage(opened, gpu as WebGpuHandle.Texture, options))
  )

/**
 * A sampler around a GPUSampler that the program has made on the raw `device`, until the scope closes; it stays the program's.
 * Every dispatch takes it. Adopting one GPUSampler twice gives samplers that are equal (`Equal.equals`).
 *
 * A GPUSampler does not reveal how it was made, so pass its options: those that are left out have the defaults of
 * `SamplerOptions`. The checks before a dispatch use them. What they have no field for, as `maxAnisotropy`, is the
 * GPUSampler's own.
 *
 * Fails with InvalidRequest for what is no GPUSampler, and for options that do not go together; with Unsupported for options
 * that no GPUSampler has; and with DeviceLost. A GPUSampler of another device, or one that filters where the options say that
 * it does not, makes the commands with it fail.
 *
 * **Example** (Anisotropic filtering)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const sharp = Effect.flatMap(WebGpu.WebGpu, ({ device }) =>
 *   WebGpu.adoptSampler(
 *     device.createSampler({ magFilter: "linear", minFilter: "linear", mipmapFilter: "linear", maxAnisotropy: 8 }),
 *     { filter: "linear", mipFilter: "linear" }
 *   ))
 * ```
 *
 * @see pyopencl.Sampler.from_int_ptr
 * @category constructors
 * @since 0.1.0
 */
export const adoptSampler = (
  gpu: WebGpuApi.Sampler,
  options?: SamplerOptions.SamplerOptions
): Effect.Effect<DeviceSampler, GpuError, WebGpu | Scope.Scope> =>
  Effect.flatMap(
    own,
    (opened) => later.use(({ adoptSampler }) => adoptSampler(opened, gpu as WebGpuHandle.Sampler, options))
  )
