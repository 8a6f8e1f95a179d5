/**
 * The services of an open device, over its drivers and the parts that its layer chose. They check every rule before a driver is called, so
 * each rule is written once for all backends.
 *
 * No module is loaded later from here: esbuild makes a file of every dynamic import that it finds, even of one that no code reaches, and
 * cuts the rest to share it.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import * as BufferProblems from "../buffers/BufferProblems.ts"
import type * as LazyModule from "../calls/LazyModule.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { ImageDriver } from "../device/ImageDriver.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import { showingDevice } from "../device/ShownDevice.ts"
import type * as CheckedImages from "../images/CheckedImages.ts"
import { Images } from "../images/Images.ts"
import { CheckedQueue, type LazyParts } from "../queue/CheckedQueue.ts"
import { CommandQueue, type OnQueue } from "../queue/CommandQueue.ts"
import type { Dispatches } from "../queue/Dispatches.ts"
import type * as FurtherQueue from "../queue/FurtherQueue.ts"

/** What every backend gives for an open device. */
interface Drivers {
  readonly device: DeviceContext["Service"]
  readonly queue: QueueDriver["Service"]
  readonly images: ImageDriver["Service"]
}

/** What a device provides whose programs only have memory and move data. */
export type MemoryServices = DeviceContext | CommandQueue | QueueDriver

/** The services of such a device, over the parts that it has instead of kernels, rectangles, images and further queues. */
export const forMemory = (drivers: Drivers, parts: Parts): Context.Context<MemoryServices> =>
  deviceOf(drivers.device).pipe(
    Context.add(CommandQueue, Context.get(servicesOf(drivers, parts, undefined), CommandQueue)),
    Context.add(QueueDriver, drivers.queue)
  )

/** The image driver of a device without images. All of its functions fail with `error`. */
export const noImages = (error: GpuError): ImageDriver["Service"] => {
  const fail = () => error
  const failed = () => Exit.fail(error)
  return {
    largest: () => ({ width: 0, height: 0, depth: 0, layers: 0 }),
    formats: () => [],
    create: fail,
    createFromHost: fail,
    createSampler: fail,
    destroyUnsafe: failed,
    writeUnsafe: failed,
    readUnsafe: (_source, _region, answer) => {
      answer(failed())
      return constVoid
    },
    fillUnsafe: failed,
    copyUnsafe: failed,
    toBufferUnsafe: failed,
    fromBufferUnsafe: failed,
    destroySamplerUnsafe: failed
  }
}

export const deviceOf = (device: DeviceContext["Service"]): Context.Context<DeviceContext> =>
  Context.make(DeviceContext, showingDevice(checkedDevice(device)))

/** What a queue has besides the commands on whole buffers. */
export interface Parts {
  readonly commands: LazyModule.LazyModule<LazyParts>
  readonly dispatches: LazyModule.LazyModule<Dispatches>
  readonly images: LazyModule.LazyModule<typeof CheckedImages>
  /** Opens a further queue, where the device can have one. */
  readonly further: FurtherQueue.Open | undefined
}

/** The services of one queue, with the backend's own. */
export const servicesOf = (
  { device, images, queue }: Drivers,
  { commands, dispatches, further, images: imagesPart }: Parts,
  label: string | undefined,
  own?: Context.Context<never>
): Context.Context<OnQueue> => {
  // A further queue may end before its device.
  const state = () => [
    device.status.error?.reason._tag === "Released" ? "closed" : deviceState(device.status, device.info)
  ]
  const checkedImages = imagesPart.map(({ CheckedImages }) => new CheckedImages({ driver: images, device, queue }))
  const checkedQueue = new CheckedQueue({
    driver: queue,
    device,
    commands,
    dispatches,
    further,
    services: () => services
  })
  const services: Context.Context<OnQueue> = Context.make(QueueDriver, queue).pipe(
    Context.add(ImageDriver, images),
    Context.add(
      CommandQueue,
      showing(() => inOneLine("CommandQueue", label, state()), "CommandQueue")(CommandQueue.of(checkedQueue))
    ),
    Context.add(
      Images,
      showing(() => inOneLine("Images", label, state()), "Images")(Images.of(checkedImages.effects(imageOperations)))
    ),
    Context.merge(own ?? Context.empty())
  )
  return services
}

const imageOperations = [
  "make",
  "fromHost",
  "hostArray",
  "overBuffer",
  "fromArray",
  "write",
  "read",
  "readInto",
  "fill",
  "copy",
  "toBuffer",
  "fromBuffer",
  "map",
  "sampler",
  "formats",
  "largest"
] as const

/** Programs can call the device themselves, so what every backend needs to be sure of is checked here. */
const checkedDevice = (device: DeviceContext["Service"]): DeviceContext["Service"] => {
  const { createFromHost, driverObjects, info, loadParts, partUnsafe, status } = device
  return {
    info,
    status,
    driverObjects,
    createBuffer: (bytes, usage, label, isDeferred) =>
      Effect.suspend(() =>
        status.error ?? BufferRequest.problem("DeviceContext.createBuffer", bytes, usage, label) ??
          device.createBuffer(bytes, usage, label, isDeferred)
      ),
    createFromHost,
    createRegionUnsafe: (part, size, usage, label) =>
      status.error === undefined ? device.createRegionUnsafe(part, size, usage, label) : Exit.fail(status.error),
    partUnsafe,
    loadParts,
    destroyBufferUnsafe: (buffer) => {
      if (buffer.destroyed) return Exit.void
      const problem = BufferProblems.ownerProblem("DeviceContext.destroyBufferUnsafe", buffer, info)
      return problem === undefined ? device.destroyBufferUnsafe(buffer) : Exit.fail(problem)
    }
  }
}
