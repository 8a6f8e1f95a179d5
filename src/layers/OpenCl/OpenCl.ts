/**
 * The OpenCL backend: any OpenCL device of the machine, through npm `koffi` and the system's OpenCL loader.
 *
 * **Details**
 *
 * Every open device has an in-order queue, which {@link layerFromHandles} gets from other code, and those of
 * `CommandQueue.make`. Waiting for a queue occupies at most one of the four threads that Node has for files and DNS,
 * however many fibers wait; compiling a kernel occupies one more. `UV_THREADPOOL_SIZE` raises their number for programs
 * that keep many devices open.
 *
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { formatted } from "../../domain/arguments/Format.ts"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import { format } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as Device from "../../services/backend/Device.ts"
import * as FurtherQueues from "../../services/backend/FurtherQueues.ts"
import type * as BufferLike from "../../services/buffers/BufferLike.ts"
import { type ConfigOf, layerOfConfig, layerOfOptions } from "../../services/calls/LayerConfig.ts"
import { validated } from "../../services/calls/Validated.ts"
import * as KernelCache from "../../services/device/KernelCache.ts"
import { CurrentKernelTimes } from "../../services/device/queues/KernelTimes.ts"
import { ImageAllocator } from "../../services/images/ImageAllocator.ts"
import type * as ImageLike from "../../services/images/ImageLike.ts"
import { OpenClQueue } from "./commands/OpenClQueue.ts"
import { OpenClImages } from "./images/OpenClImages.ts"
import * as OpenClKernel from "./kernels/OpenClKernel.ts"
import { handleForProgramUnsafe } from "./memory/MemoryHandle.ts"
import { load, type OpenClApi } from "./OpenClApi.ts"
import { isVersion12, list } from "./opening/OpenClDevices.ts"
import type { OpenClDevice, OpenClPlatform } from "./opening/OpenClPlatform.ts"
import { type DeviceSettings, type OpenDevice, openFirst } from "./opening/OpenDevice.ts"
import * as OpenOptions from "./opening/OpenOptions.ts"
import * as SharedHandles from "./opening/SharedHandles.ts"
import { backendHandles, OpenCl } from "./OwnDevice.ts"
import { SvmMemory } from "./svm/SvmMemory.ts"

export { OpenCl, type RawCommand } from "./OwnDevice.ts"

export { load, type OpenClApi, type Pointer } from "./OpenClApi.ts"

export type { DeviceOptions, Options } from "./opening/OpenOptions.ts"

export type { OpenClDevice, OpenClPlatform } from "./opening/OpenClPlatform.ts"

export type { Selector } from "./opening/OpenClPlatform.ts"

export type { HandleOptions, Handles } from "./opening/SharedHandles.ts"

/** Editors show `Services` by this name, which tells the backends apart. */
type OpenClServices = Device.Services | OpenCl

/**
 * What an OpenCL layer provides.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = OpenClServices

/**
 * Opens an OpenCL device: by default the first usable one of the first platform that has any. npm `koffi`, an optional
 * peer dependency, is loaded only now.
 *
 * Fails with DeviceUnavailable when koffi, the loader or a fitting device is missing; it lists what was tried and says
 * what to install. Closing the layer waits for recorded work, then releases everything that is left.
 *
 * **Example** (A pool on the first GPU of a vendor)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "nvidia" })))
 * ```
 *
 * @see pyopencl.create_some_context
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: OpenOptions.Options): Layer.Layer<Services, GpuError> =>
  layerOfOptions(
    "OpenCl.layer",
    OpenOptions.Options,
    options,
    (given) => Effect.flatMap(load({ library: given.library }), (api) => makeFirst(api, given))
  )

/**
 * The same as {@link layer}, with options that come from configuration.
 *
 * **Example** (The platform from the environment)
 *
 * ```ts
 * import { Config } from "effect"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const gpu = OpenCl.layerConfig({ platform: Config.String("OPENCL_PLATFORM"), byteGranular: true })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: ConfigOf<OpenOptions.Options>
): Layer.Layer<Services, GpuError | Config.ConfigError> =>
  layerOfConfig("OpenCl.layerConfig", config, OpenOptions.Options, layer)

/**
 * Opens a device through functions that the program provides: those of {@link load}, or a double for tests. Otherwise
 * as {@link layer}.
 *
 * **Example** (Counting kernel launches)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * let launches = 0
 * const counted = Layer.unwrap(Effect.map(OpenCl.load(), (api) =>
 *   OpenCl.layerFrom({
 *     ...api,
 *     clEnqueueNDRangeKernel: (...args) => {
 *       launches += 1
 *       return api.clEnqueueNDRangeKernel(...args)
 *     }
 *   })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFrom = (api: OpenClApi, options?: OpenOptions.DeviceOptions): Layer.Layer<Services, GpuError> =>
  layerOfOptions("OpenCl.layerFrom", OpenOptions.DeviceOptions, options, (given) => makeFirst(api, given))

/**
 * Uses a context and a command queue that other code has made and goes on using. `device` is the one of the queue, as the loader
 * lists it; a context may have others as well.
 *
 * Both are retained while the layer is open. Closing it waits for the library's own commands, releases its memory and kernels and
 * those references, and nothing else, so what the other code has stays as it was. Commands of both run in queue order.
 * Several layers can use one queue, each with pools of its own.
 *
 * Fails with InvalidRequest for a device that the loader does not list, for a queue that executes out of order, and for one of
 * another context or device; with DeviceUnavailable where koffi or the loader is missing, or kernels cannot run on the device; and
 * with DriverError.
 *
 * **Gotchas**
 *
 * A number that is not the address of a live queue ends the process, since no driver can detect it. The handles must
 * come from the loader whose functions the layer uses.
 *
 * The library's commands come after those that the other code has enqueued before, and its waits and its close wait for
 * those as well: for a user event that is never set, forever. They do not wait for what the other code enqueues later.
 *
 * In a context of several devices `Images.formats` lists what any of them has, as drivers answer it.
 *
 * **Example** (Sharing the queue of another OpenCL library)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const pooled = (theirs: OpenCl.Handles) =>
 *   BufferPool.layer({ maxBytes: "256 MiB" }).pipe(Layer.provideMerge(OpenCl.layerFromHandles(theirs)))
 * ```
 *
 * @see pyopencl.CommandQueue.from_int_ptr
 * @category layers
 * @since 0.1.0
 */
export const layerFromHandles = (
  handles: SharedHandles.Handles,
  options?: SharedHandles.HandleOptions
): Layer.Layer<Services, GpuError> => {
  const operation = "OpenCl.layerFromHandles"
  return layerOfOptions(
    operation,
    SharedHandles.HandleOptions,
    options,
    (given) =>
      SharedHandles.problem(operation, handles) ??
        Effect.flatMap(
          given.api === undefined ? load() : Effect.succeed(given.api),
          (api) => make(api, given, (platforms, given) => SharedHandles.open(operation, api, platforms, handles, given))
        )
  )
}

/**
 * The platforms and devices of the machine, in the order that `layer`'s indices mean. Fails with DeviceUnavailable when
 * koffi or the OpenCl loader is missing.
 *
 * **Example** (Listing devices)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const names = Effect.map(
 *   OpenCl.devices,
 *   (platforms) => platforms.flatMap(({ devices }) => devices.map((device) => device.name))
 * )
 * ```
 *
 * @see pyopencl.get_platforms
 * @category getters
 * @since 0.1.0
 */
export const devices: Effect.Effect<ReadonlyArray<OpenClPlatform>, GpuError> = Effect.flatMap(
  Effect.suspend(() => load()),
  list
)

/**
 * The cl_mem of a lease, a device buffer or an image, as an address. That of a buffer covers the whole block, of which the
 * first `size` bytes are the lease's; in a pool with `PoolStrategy.arena` a block is a sub-buffer, of which OpenCL makes no further ones. It is valid until the lease, or the image, is released. Fails with Released, ForeignDevice or DeviceLost, and
 * with InvalidRequest for a buffer of no bytes, which has no memory.
 *
 * **Gotchas**
 *
 * Between two steps of a fiber another fiber may end the lease, and the handle is then that of the next owner's memory.
 * Where another fiber could do so, use the handle in the step that gets it: `handleUnsafe` of the service returns it at
 * once, and commands that are enqueued in that step come before those of the next owner.
 *
 * **Example** (Handing a lease to another OpenCL library)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const address = BufferPool.use(1024, OpenCl.handle)
 * ```
 *
 * @see pyopencl.MemoryObjectHolder.int_ptr
 * @category accessors
 * @since 0.1.0
 */
export const handle = (
  object: BufferLike.BufferLike | ImageLike.ImageLike
): Effect.Effect<bigint, GpuError, OpenCl> =>
  OpenCl.use((cl) => validated("OpenCl.handle", () => cl.handleUnsafe(object)))

const makeFirst = (api: OpenClApi, given: OpenOptions.DeviceOptions) =>
  make(api, given, (platforms, given) => openFirst(api, platforms, given))

const make = Effect.fn("OpenCl.open")(function*<Given extends OpenOptions.DeviceOptions>(
  api: OpenClApi,
  given: Given,
  open: (platforms: ReadonlyArray<OpenClPlatform>, given: Given & DeviceSettings) => OpenDevice
): Effect.fn.Return<Context.Context<Services>, GpuError, Scope.Scope> {
  const platforms = yield* list(api)
  const kernelTimes = yield* CurrentKernelTimes
  const device = yield* Effect.acquireRelease(
    validated("OpenCl.open", () => Exit.succeed(open(platforms, { ...given, profiled: kernelTimes !== undefined }))),
    (device) => Effect.sync(() => device.close())
  )
  yield* Effect.annotateCurrentSpan("gpu.device", format(device.info))
  const cache = yield* KernelCache.make(OpenClKernel.compiler(device), {
    status: device.status,
    info: device.info,
    capacity: given.kernelCacheCapacity
  })
  // Closed first: work under way ends before the kernels, buffers and handles that it uses are released.
  const queue = yield* Effect.acquireRelease(Effect.sync(() => new OpenClQueue(device)), (queue) => queue.close)
  const images = new OpenClImages(device, queue)
  const serviceOf = (queue: OpenClQueue, svm: SvmMemory, images: OpenClImages, as: OpenClDevice): OpenCl["Service"] => {
    const allocator = new ImageAllocator({ device, queue, driver: images })
    backendHandles.add(as, { api, opened: device, queue, svm, images, allocator })
    return handles(device, queue, as)
  }
  const openQueue = yield* FurtherQueues.within((label, status) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.suspend(() =>
          Exit.map(device.createQueueUnsafe(), (handle) => new OpenClQueue(device, { handle, label, status }))
        ),
        (further) => further.closeFurther
      ),
      (further) => {
        const ownImages = new OpenClImages(device, further, images)
        const service = serviceOf(further, new SvmMemory(device, further, queue), ownImages, { ...device.device })
        return { queue: further, images: ownImages, own: Context.make(OpenCl, service) }
      }
    )
  )
  // The commands that make one queue wait for another came with 1.2.
  const several = isVersion12(device.device) ? { openQueue } : {}
  return Context.add(
    Device.fromDrivers({ device, cache, queue, images, kernelTimes, ...several }),
    OpenCl,
    serviceOf(queue, new SvmMemory(device, queue), images, device.device)
  )
})

const handles = (device: OpenDevice, queue: OpenClQueue, shown: OpenClDevice): OpenCl["Service"] =>
  showing(() => inOneLine("OpenCl", undefined, [deviceState(device.status, device.info)]), "OpenCl")(OpenCl.of({
    api: device.api,
    platform: device.platform,
    device: shown,
    context: device.context,
    queue: queue.handle,
    handleUnsafe: (object) => handleForProgramUnsafe("OpenCl.handle", object, device, queue),
    enqueueUnsafe: ({ call, enqueue, label, memory }) => {
      const problem = commandProblem(label, memory)
      if (problem !== undefined) return Exit.fail(problem)
      return queue.record({ call, bytes: memory?.byteLength ?? 0, label: () => label, memory }, enqueue)
    }
  }))

/** Only an ArrayBuffer can be kept alive for as long as the driver uses it. */
const commandProblem = (label: unknown, memory: unknown): GpuError | undefined => {
  const operation = "OpenCl.enqueueUnsafe"
  if (typeof label !== "string") {
    return invalidRequest(operation, `the label ${formatted(label)} is no string`, "Pass what errors call it.")
  }
  return memory === undefined || memory instanceof ArrayBuffer
    ? undefined
    : invalidRequest(operation, `the memory ${formatted(memory)} is no ArrayBuffer`, "Pass one, or leave it out.")
}
