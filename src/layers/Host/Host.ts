/**
 * The host backend: buffers in process memory and kernels in JavaScript. It runs everywhere, and it is the backend for
 * tests: capacity, failures and latency can be set, and a device can be lost.
 *
 * **Details**
 *
 * Recorded commands are kept and submitted together, in order, as on a device; kernels run range by range on the event
 * loop's own thread, with other tasks in between. There is no parallelism: for speed use another backend.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { attempt, valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import { portableAlignment } from "../../domain/data/BufferRange.ts"
import * as DType from "../../domain/data/DType.ts"
import * as BackendTraits from "../../domain/device/BackendTraits.ts"
import { type DeviceInfo, format, type GroupLimits, type ImageLimits } from "../../domain/device/DeviceInfo.ts"
import { deviceUnavailable, type GpuError, invalidRequest, isGpuError, unsupported } from "../../domain/GpuError.ts"
import * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import * as Device from "../../services/backend/Device.ts"
import * as FurtherQueues from "../../services/backend/FurtherQueues.ts"
import type * as BufferLike from "../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../services/buffers/BufferMemory.ts"
import { leaseOf } from "../../services/buffers/LeaseUnder.ts"
import type { PooledBuffer } from "../../services/buffers/PooledBuffer.ts"
import { type ConfigOf, layerOfConfig } from "../../services/calls/LayerConfig.ts"
import { type TaskQueue, Tasks } from "../../services/calls/Tasks.ts"
import { validated } from "../../services/calls/Validated.ts"
import * as KernelCache from "../../services/device/KernelCache.ts"
import { CurrentKernelTimes } from "../../services/device/queues/KernelTimes.ts"
import * as KnownQueues from "../../services/device/queues/KnownQueues.ts"
import { DeviceQueues } from "../../services/device/queues/QueueOrder.ts"
import * as Attachments from "../../services/lease/Attachments.ts"
import { Faults } from "./Faults.ts"
import { HostDevice } from "./HostDevice.ts"
import * as HostKernel from "./HostKernel.ts"
import { type HostBuffer, HostMemory } from "./HostMemory.ts"
import { HostQueue } from "./HostQueue.ts"
import { HostImages } from "./images/HostImages.ts"
import { language } from "./language/JavaScript.ts"

export { type Delays, Faults, type FaultWindow, makeFaults } from "./Faults.ts"

/**
 * The options of a host device. All sizes are bytes; the defaults are large.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostOptions extends Schema.Schema.Type<typeof hostOptions> {}

const hostOptions = Schema.Struct({
  /** All memory of the device in bytes, 4 GiB when left out. Beyond it allocations fail with OutOfMemory. */
  capacityBytes: MemoryLimit.amount,
  /** The largest single buffer in bytes, 1 GiB when left out; "25%" is a share of the device's memory. */
  maxBufferSize: MemoryLimit.amount,
  /** The largest range of a buffer that a kernel argument can see, `maxBufferSize` when left out. */
  maxBindingSize: MemoryLimit.amount,
  /** Block sizes are rounded up to a multiple of this, 1 when left out; 4 behaves as WebGPU does. */
  granularity: LayerOptions.count(1),
  /** Sub-regions begin at multiples of this: a multiple of 4, and 4 when left out. Most WebGPU devices have 256. */
  regionAlignment: LayerOptions.count(1),
  /** The byte limit of a pool that names none; no limit when left out. */
  defaultMaxBytes: MemoryLimit.amount,
  /** How many buffers a kernel can take: 8 when left out, as every WebGPU device has. */
  maxVectorArguments: LayerOptions.count(1),
  /**
   * The largest workgroup a kernel may ask for: 256 when left out, as every WebGPU device has. The host does not use
   * it.
   */
  maxWorkgroupSize: LayerOptions.count(1),
  /** Bytes of local memory that a workgroup can have: 16,384 when left out, as every WebGPU device has. */
  maxLocalBytes: LayerOptions.count(1),
  /** Memory of a destroyed buffer counts until the next finish or reclaim has completed, as on Dawn over Vulkan. */
  lateFree: LayerOptions.boolean,
  /** Planned failures, and counts that stay readable after the device is closed. */
  faults: LayerOptions.data(Schema.instanceOf(Faults), "controller of faults", "Pass what Host.makeFaults made."),
  /** A delay of every allocation and read, on Effect's clock; `faults.delay` sets each kind by itself. */
  latency: LayerOptions.duration(),
  /**
   * How many items a kernel runs in one task of the event loop, 65,536 when left out. For a kernel with a `workPerItem`
   * it counts elements, and at least one item runs.
   */
  rangeItems: LayerOptions.count(1),
  /**
   * Whether reads, writes, copies and fills of buffers, rectangles included, begin and end at any byte, instead of at
   * multiples of 4: `false` when left out. It is not portable: a program that relies on it does not run on WebGPU,
   * whose layer answers Unsupported, nor on a device that was opened without it. `limits.copyAlignment` says which of
   * the two a device does.
   */
  byteGranular: LayerOptions.boolean,
  /** How many compiled kernels are kept, 256 when left out. */
  kernelCacheCapacity: LayerOptions.kernelCacheCapacity
})

/**
 * The service with what only the host backend has.
 *
 * **Example** (Failing from within a program)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const failNextAllocation = Host.Host.useSync((host) => host.faults.failAllocations())
 * const allocations = Effect.map(Host.Host, (host) => host.faults.allocations)
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class Host extends Context.Service<Host, {
  /** See {@link bytes}. */
  readonly bytes: (buffer: BufferLike.BufferLike) => Effect.Effect<Uint8Array<ArrayBuffer>, GpuError>
  /** See {@link usedBytes}. */
  readonly usedBytes: Effect.Effect<number>
  /** The faults of the layer's options, or the device's own. */
  readonly faults: Faults
}>()("effect-gpu-pool/Host") {}

/**
 * The memory of a lease or device buffer, in place: its requested size, without a copy. Recorded commands that have not
 * run are not in it yet, so call `finish` first. The view ends with the lease, or when the buffer is destroyed: then
 * its length is 0, and it never shows another owner's bytes. While the device is busy with the lease's commands, the
 * view ends when they have run, before the commands of the next owner. Fails with Released, ForeignDevice or
 * DeviceLost, and with InvalidRequest where the program has transferred the memory; the next owner gets other memory
 * then.
 *
 * **Example** (Looking at device memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   const buffer = yield* BufferPool.allocate(4)
 *   yield* CommandQueue.fill(buffer, 0x01020304)
 *   yield* CommandQueue.finish
 *   return [...(yield* Host.bytes(buffer))]
 * }) // => [4, 3, 2, 1]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const bytes = (buffer: BufferLike.BufferLike): Effect.Effect<Uint8Array<ArrayBuffer>, GpuError, Host> =>
  Host.use((host) => host.bytes(buffer))

/**
 * Bytes that count against the device's capacity now, those of `lateFree` included.
 *
 * **Example** (Seeing what the pool holds)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, SizePolicy } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.scoped(BufferPool.allocate(100)).pipe(
 *   Effect.andThen(Host.usedBytes),
 *   Effect.provide(BufferPool.layer({ sizePolicy: SizePolicy.exact }))
 * ) // => 100
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const usedBytes: Effect.Effect<number, never, Host> = Host.use((host) => host.usedBytes)

/** Editors show `Services` by this name, which tells the backends apart. */
type HostServices = Device.Services | Host

/**
 * Everything that the layer provides.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = HostServices

/**
 * Opens a host device. Fails with InvalidRequest for an option that is no number of bytes or items, and with
 * DeviceUnavailable where the faults say so.
 *
 * **Example** (A device with one mebibyte, whose memory comes back late)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const program = BufferPool.use(4096, (buffer) => Effect.succeed(buffer.size)).pipe(
 *   Effect.provide(BufferPool.layer()),
 *   Effect.provide(Host.layer({ capacityBytes: 1024 * 1024, lateFree: true }))
 * )
 * await Effect.runPromise(program) // => 4096
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: HostOptions = {}
): Layer.Layer<Services, GpuError> => Layer.effectContext(make(options))

/**
 * The same as {@link layer}, with options that come from configuration.
 *
 * **Example** (The capacity from the environment)
 *
 * ```ts
 * import { Config } from "effect"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const host = Host.layerConfig({ capacityBytes: Config.String("HOST_CAPACITY"), granularity: 4 })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: ConfigOf<HostOptions>
): Layer.Layer<Services, GpuError | Config.ConfigError> => layerOfConfig("Host.layerConfig", config, hostOptions, layer)

const make = Effect.fn("Host.open")(function*(
  options: HostOptions
): Effect.fn.Return<Context.Context<Services>, GpuError, Scope.Scope> {
  const settings = attempt(() => resolve(options))
  if (isGpuError(settings)) return yield* settings
  const device = yield* Effect.acquireRelease(
    Effect.flatMap(Tasks, (tasks) => open(settings, tasks)),
    (device) => Effect.sync(() => device.close())
  )
  yield* Effect.annotateCurrentSpan("gpu.device", format(device.info))
  const cache = yield* KernelCache.make(HostKernel.compiler, {
    status: device.status,
    info: device.info,
    capacity: settings.kernelCacheCapacity
  })
  const queues = KnownQueues.add(device.info, new DeviceQueues())
  const running = { clock: yield* Clock.Clock, rangeItems: settings.rangeItems }
  const queue = new HostQueue(device, running, queues)
  const images = new HostImages(device, queue)
  const openQueue = yield* FurtherQueues.within((label, status) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new HostQueue(device, running, queues, { label, status })),
        ({ close }) => close
      ),
      (queue) => ({ queue, images: new HostImages(device, queue) })
    )
  )
  const kernelTimes = yield* CurrentKernelTimes
  return Context.add(
    Device.fromDrivers({ device, cache, queue, images, openQueue, kernelTimes }),
    Host,
    handles(device)
  )
})

const open = (settings: Settings, tasks: TaskQueue): Effect.Effect<HostDevice, GpuError> => {
  const why = settings.faults.calls.openings.next()
  if (why === undefined) {
    const memory = new HostMemory(settings.capacityBytes, settings.lateFree)
    return Effect.succeed(new HostDevice({ ...settings, info: describe(settings), memory, tasks }))
  }
  return deviceUnavailable(
    [{ backend: "host", device: deviceName, why }],
    "The host backend always has a device: call clear() on its faults to open one."
  )
}

const handles = (device: HostDevice): Host["Service"] =>
  showing(
    () =>
      inOneLine("Host", undefined, [deviceState(device.status, device.info), `${device.memory.usedBytes} B in use`]),
    "Host"
  )(Host.of({
    bytes: (buffer) => viewOf(device, buffer),
    usedBytes: Effect.sync(() => device.memory.usedBytes),
    faults: device.faults
  }))

const deviceName = "process memory"

/** The limits that every WebGPU device has. */
const imageLimits: ImageLimits = { maxReadImages: 16, maxWriteImages: 4, maxSamplers: 16 }

/** The limits that every WebGPU device has, besides those that are options. */
const groupLimits: Omit<GroupLimits, "maxLocalBytes"> = { maxWorkgroupExtents: [256, 256, 64], maxWorkgroups: 65_535 }

const traits = BackendTraits.make({ language, usesHostMemory: true })

const describe = (settings: Settings): DeviceInfo => ({
  backend: "host",
  traits,
  name: deviceName,
  vendor: "effect-gpu-pool",
  driver: "JavaScript",
  limits: {
    maxBufferSize: settings.maxBufferSize,
    maxBindingSize: settings.maxBindingSize,
    granularity: settings.granularity,
    regionAlignment: settings.regionAlignment,
    copyAlignment: settings.byteGranular ? 1 : portableAlignment.bytes,
    leastCopyAlignment: 1,
    memoryBytes: settings.capacityBytes,
    defaultMaxBytes: settings.defaultMaxBytes,
    maxWorkgroupSize: settings.maxWorkgroupSize,
    maxVectorArguments: settings.maxVectorArguments,
    images: imageLimits,
    groups: { ...groupLimits, maxLocalBytes: settings.maxLocalBytes }
  },
  dtypes: new Set(DType.all.filter(DType.hostSupports))
})

type Settings = ReturnType<typeof resolve>

const GiB = 2 ** 30

const layerOperation = "Host.layer"

const resolve = (given: HostOptions) => {
  const options = valid(LayerOptions.read(layerOperation, hostOptions, given))
  const { byteGranular, faults = new Faults(), kernelCacheCapacity } = options
  const capacityBytes = bytesOf(options, "capacityBytes", undefined) ?? 4 * GiB
  const maxBufferSize = bytesOf(options, "maxBufferSize", capacityBytes) ?? GiB
  const settings = {
    capacityBytes,
    maxBufferSize,
    maxBindingSize: bytesOf(options, "maxBindingSize", capacityBytes) ?? maxBufferSize,
    granularity: options.granularity ?? 1,
    regionAlignment: options.regionAlignment ?? 4,
    defaultMaxBytes: bytesOf(options, "defaultMaxBytes", capacityBytes),
    maxVectorArguments: options.maxVectorArguments ?? 8,
    maxWorkgroupSize: options.maxWorkgroupSize ?? 256,
    maxLocalBytes: options.maxLocalBytes ?? 16_384,
    rangeItems: options.rangeItems ?? 65_536
  }
  if (settings.regionAlignment % 4 !== 0) {
    throw invalidRequest(
      layerOperation,
      `regionAlignment ${settings.regionAlignment} is no multiple of 4`,
      "Every access starts at a multiple of 4 bytes, so every sub-region does."
    )
  }
  const latency = Duration.fromInputUnsafe(options.latency ?? 0)
  return {
    ...settings,
    lateFree: options.lateFree ?? false,
    byteGranular: byteGranular ?? false,
    faults,
    kernelCacheCapacity,
    latency: Duration.isZero(latency) ? undefined : latency
  }
}

/** An option in bytes; it may be given as a share of the device's memory. "No limit" is the largest safe integer. */
const bytesOf = (
  options: HostOptions,
  name: "capacityBytes" | "maxBufferSize" | "maxBindingSize" | "defaultMaxBytes",
  memoryBytes: number | undefined
): number | undefined => {
  const device = { backend: "host", limits: { memoryBytes } }
  const bytes = valid(MemoryLimit.resolve(layerOperation, name, { bytes: options[name] }, device))
  // Tests may open a device of 0 bytes.
  if (bytes === 0 && name !== "capacityBytes") {
    throw invalidRequest(
      layerOperation,
      `${name} 0 is no whole number of at least 1`,
      "Leave it out for the default."
    )
  }
  return bytes === undefined ? undefined : Math.min(bytes, Number.MAX_SAFE_INTEGER)
}

const operation = "Host.bytes"

const partHint =
  "Other leases are in the same memory: CommandQueue.map or read the lease, or use a pool without PoolStrategy.arena."

/** The requested bytes, until the buffer is destroyed or the lease that it is or belongs to ends. */
const viewOf = (
  device: HostDevice,
  buffer: BufferLike.BufferLike
): Effect.Effect<Uint8Array<ArrayBuffer>, GpuError> =>
  validated(operation, () => {
    const memory = BufferMemory.of(operation, buffer, device, 0, "readwrite")
    if (isGpuError(memory)) return memory
    if (memory === undefined) return Effect.succeed(new Uint8Array(0))
    const own = memory as HostBuffer
    if (own.wholeMemory !== own.root) return unsupported(operation, "host", "the bytes of a part of a slab", partHint)
    const taken = device.problem(operation, [own])
    if (taken !== undefined) return taken
    // Wait for the move: it detaches all views of the memory, one that is made now included.
    if (own.isMoving || device.waitsForOthers(own)) return Effect.andThen(device.settled, viewOf(device, buffer))
    const lease = leaseOf(buffer)
    if (lease !== undefined && own.shownBy === undefined) show(device, own, lease)
    return Effect.succeed(new Uint8Array(own.memory, own.base, buffer.size))
  })

/** Ends the views with the lease. The bytes move only when submitted work no longer uses the memory. */
const show = (device: HostDevice, own: HostBuffer, lease: PooledBuffer): void => {
  own.show(lease)
  Attachments.attach(lease, {
    endUnsafe: () => {
      own.hide()
      device.afterUses(own, () => own.move())
      return Exit.void
    }
  })
}
