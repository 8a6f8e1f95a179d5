/**
 * All services of one open device, from what its backend gives. They check every rule before a driver is called, so
 * each rule is written once for all backends.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as LazyModule from "../calls/LazyModule.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import { ImageDriver } from "../device/ImageDriver.ts"
import { KernelCache } from "../device/KernelCache.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import type { KernelTimes } from "../device/queues/KernelTimes.ts"
import { showingDevice } from "../device/ShownDevice.ts"
import { Images } from "../images/Images.ts"
import { CheckedQueue } from "../queue/CheckedQueue.ts"
import { CommandQueue, type OnQueue } from "../queue/CommandQueue.ts"
import type * as FurtherQueues from "./FurtherQueues.ts"

/** Editors show the union under this name, which differs from the `Services` of other modules. */
type DeviceServices = DeviceContext | CommandQueue | KernelCache | Images | QueueDriver | ImageDriver

/**
 * What every backend's layer provides: what programs use, and the drivers that pools and allocators are built on.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = DeviceServices

/**
 * What a backend gives for an open device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Drivers {
  readonly device: DeviceContext["Service"]
  readonly cache: KernelCache["Service"]
  readonly queue: QueueDriver["Service"]
  readonly images: ImageDriver["Service"]
  /** How the program opens further queues; a backend without it has one queue for each device. @internal */
  readonly openQueue?: FurtherQueues.OpenQueue
  /** Measures how long kernels run, where a program asks for it. @internal */
  readonly kernelTimes?: KernelTimes | undefined
}

/**
 * The services of a device over its drivers.
 *
 * **Example** (A backend whose queue is changed)
 *
 * ```ts
 * import * as Context from "effect/Context"
 * import { DeviceContext } from "effect-gpu-pool"
 * import { Device, ImageDriver, KernelCache, QueueDriver } from "effect-gpu-pool/backend"
 *
 * const withQueue = (
 *   services: Context.Context<Device.Services>,
 *   queue: QueueDriver.QueueDriver["Service"]
 * ): Context.Context<Device.Services> =>
 *   Device.fromDrivers({
 *     device: Context.get(services, DeviceContext.DeviceContext),
 *     cache: Context.get(services, KernelCache.KernelCache),
 *     queue,
 *     images: Context.get(services, ImageDriver.ImageDriver)
 *   })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromDrivers = (drivers: Drivers): Context.Context<Services> =>
  Context.make(DeviceContext, showingDevice(checkedDevice(drivers.device))).pipe(
    Context.add(KernelCache, drivers.cache),
    Context.merge(onQueue(drivers, undefined))
  )

/** The services of one queue, with the backend's own. */
const onQueue = (
  drivers: Drivers,
  label: string | undefined,
  own?: Context.Context<never>
): Context.Context<OnQueue> => {
  const { cache, device, images, kernelTimes, openQueue, queue } = drivers
  // A further queue may end before its device.
  const state = () => [
    device.status.error?.reason._tag === "Released" ? "closed" : deviceState(device.status, device.info)
  ]
  const checkedImages = imagesPart.map(({ CheckedImages }) => new CheckedImages({ driver: images, device, queue }))
  const further = openQueue === undefined ? undefined : (label: string | undefined) =>
    Effect.map(
      queuesPart.use(({ open }) => open(device, openQueue, label)),
      (opened) => Context.get(onQueue({ ...drivers, ...opened }, label, opened.own), CommandQueue)
    )
  const checkedQueue = new CheckedQueue({
    driver: queue,
    device,
    cache,
    further,
    kernelTimes,
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

const queuesPart = LazyModule.module("services/backend/FurtherQueues", () => import("./FurtherQueues.ts"))

const imagesPart = LazyModule.module("services/images/CheckedImages", () => import("../images/CheckedImages.ts"))

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

/** Programs can call the device's `createBuffer` themselves, so its arguments are checked here. */
const checkedDevice = (device: DeviceContext["Service"]): DeviceContext["Service"] => {
  const { createFromHost, createRegionUnsafe, destroyBufferUnsafe, driverObjects, info, status } = device
  return {
    info,
    status,
    driverObjects,
    createBuffer: (bytes, usage, label) =>
      Effect.suspend(() =>
        status.error ?? BufferRequest.problem("DeviceContext.createBuffer", bytes, usage, label) ??
          device.createBuffer(bytes, usage, label)
      ),
    createFromHost,
    createRegionUnsafe,
    destroyBufferUnsafe
  }
}
