/**
 * Layers of WebGPU for programs that only have memory and move data: pages whose kernels are their own, or those of another library, as
 * three.js or TypeGPU. A page loads much less with them.
 *
 * They provide buffers, and the commands on buffers: `write`, `read`, `copy`, `fill`. The handles are those of `WebGpu.WebGpu`. What is
 * left out is images, which the types of the layers say, and kernels, staging memory, rectangles and `readView`, which fail with
 * Unsupported: `StagingPool.layer` when it is built, the others when they are called. A program that needs any of them uses a layer of `WebGpu` instead; nothing else in it changes.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type GpuError, unsupported } from "../../domain/GpuError.ts"
import * as DeviceServices from "../../services/backend/DeviceServices.ts"
import { layerOfOptions } from "../../services/calls/LayerConfig.ts"
import * as LazyModule from "../../services/calls/LazyModule.ts"
import type { DeviceContext } from "../../services/device/DeviceContext.ts"
import type { QueueDriver } from "../../services/device/QueueDriver.ts"
import type { LazyParts } from "../../services/queue/CheckedQueue.ts"
import type { CommandQueue } from "../../services/queue/CommandQueue.ts"
import { openQueue } from "../../services/queue/FurtherQueue.ts"
import type { Rectangles } from "./commands/WebGpuQueue.ts"
import { givenGpu, processGpu } from "./opening/NodeGpu.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"
import * as Opening from "./opening/Opening.ts"
import * as OpenOptions from "./opening/OpenOptions.ts"
import * as SharedDevice from "./opening/SharedDevice.ts"
import { serviceOf, WebGpu } from "./OwnDevice.ts"
import type * as WebGpuApi from "./WebGpuApi.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

export type { MemoryOptions } from "./opening/OpenOptions.ts"

/** Editors show `Services` by this name, which differs from the `Services` of other modules. */
type WebGpuMemoryServices = DeviceContext | CommandQueue | QueueDriver | WebGpu

/**
 * What these layers provide.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = WebGpuMemoryServices

/**
 * Opens a WebGPU device, as `WebGpu.layer` does, for its memory.
 *
 * Fails with DeviceUnavailable when there is no device.
 *
 * **Example** (A pool on a page that draws by itself)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { WebGpuMemory } from "effect-gpu-pool/webgpu"
 *
 * const memory = BufferPool.layer().pipe(Layer.provideMerge(WebGpuMemory.layer({ powerPreference: "high-performance" })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: OpenOptions.MemoryOptions): Layer.Layer<Services, GpuError> =>
  ofGpu("WebGpuMemory.layer", processGpu([]), options)

/**
 * The same for any GPU object, as `WebGpu.layerFrom`.
 *
 * **Example** (A page's GPU)
 *
 * ```ts
 * import { WebGpuMemory } from "effect-gpu-pool/webgpu"
 *
 * const memoryOf = (gpu: GPU | undefined) => WebGpuMemory.layerFrom(gpu, { label: "my page" })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFrom = (
  gpu: WebGpuApi.Gpu | undefined,
  options?: OpenOptions.MemoryOptions
): Layer.Layer<Services, GpuError> => ofGpu("WebGpuMemory.layerFrom", givenGpu(gpu), options)

/**
 * The same for a device that other code has opened and goes on using, as `WebGpu.layerFromDevice`.
 *
 * Fails with DeviceLost for a device that is lost, and with InvalidRequest for what is no GPUDevice, as a promise of one.
 *
 * **Example** (Pooled buffers beside a renderer)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { WebGpuMemory } from "effect-gpu-pool/webgpu"
 *
 * const pooled = (device: GPUDevice) =>
 *   BufferPool.layer({ maxBytes: "256 MiB" }).pipe(Layer.provideMerge(WebGpuMemory.layerFromDevice(device)))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFromDevice = (
  device: Omit<WebGpuApi.Device, "destroy" | "onuncapturederror">
): Layer.Layer<Services, GpuError> =>
  Layer.effectContext(
    Effect.flatMap(SharedDevice.open("WebGpuMemory.layerFromDevice", device as WebGpuHandle.Device), services)
  )

const ofGpu = (
  operation: string,
  gpu: Effect.Effect<WebGpuHandle.Gpu, GpuError>,
  options: OpenOptions.MemoryOptions | undefined
): Layer.Layer<Services, GpuError> =>
  layerOfOptions(
    operation,
    OpenOptions.MemoryOptions,
    options,
    (given) => Effect.flatMap(gpu, (gpu) => Opening.open(gpu, given, services))
  )

const services = Effect.fnUntraced(function*(
  { info, ...opened }: OpenDevice
): Effect.fn.Return<Context.Context<Services>, GpuError, Scope.Scope> {
  const memory = { ...opened, info: { ...info, traits: { ...info.traits, readsStaged: false, hasStaging: false } } }
  const absent = LazyModule.absent(lacking("DeviceContext.createBuffer", "staging memory"))
  const { device, queue } = yield* Opening.memoryOf(memory, absent, noRectangles)
  const images = LazyModule.absent(lacking("Images", "an image"))
  const driver = DeviceServices.noImages(lacking("ImageDriver", "an image"))
  const parts = {
    commands: new LazyModule.LazyModule(() => commands, Effect.succeed(commands)),
    dispatches: LazyModule.absent(lacking("CommandQueue.dispatch", "a kernel")),
    images,
    further: undefined
  }
  return Context.add(
    DeviceServices.forMemory({ device, queue, images: driver }, parts),
    WebGpu,
    serviceOf(memory, { device, queue, images, driver })
  )
})

const lacking = (operation: string, feature: string): GpuError =>
  unsupported(
    operation,
    "webgpu",
    `${feature} on a device that was opened for its memory alone`,
    "Open the device by a layer of WebGpu, as WebGpu.layer."
  )

const refusing = (name: string, feature: string) => () => lacking(`CommandQueue.${name}`, feature)

const rectangle = "a rectangle"

const commands: LazyParts = {
  // A queue of such a device is shared as every queue of WebGPU.
  openQueue,
  readView: refusing("readView", "a view"),
  RectangleCommands: class {
    readonly copyRect = refusing("copyRect", rectangle)
    readonly writeRect = refusing("writeRect", rectangle)
    readonly readRect = refusing("readRect", rectangle)
    readonly readRectInto = refusing("readRectInto", rectangle)
  }
}

/** Programs can call the driver themselves. */
const noRectangles: Rectangles = () => {
  const refused = Exit.fail(lacking("QueueDriver", rectangle))
  return {
    copyRectUnsafe: () => refused,
    writeRectUnsafe: () => refused,
    readRectUnsafe: (_extent, _source, _from, answer) => {
      answer(refused)
      return constVoid
    }
  }
}
