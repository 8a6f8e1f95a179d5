/**
 * All services of one open device, from what its backend gives. They check every rule before a driver is called, so
 * each rule is written once for all backends.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as LazyModule from "../calls/LazyModule.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import { KernelCache } from "../device/KernelCache.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import type { KernelTimes } from "../device/queues/KernelTimes.ts"
import type { Images } from "../images/Images.ts"
import { CommandQueue, type OnQueue } from "../queue/CommandQueue.ts"
import { deviceOf, type Parts, servicesOf } from "./DeviceServices.ts"
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
  deviceOf(drivers.device).pipe(
    Context.add(KernelCache, drivers.cache),
    Context.merge(onQueue(drivers, undefined))
  )

const commandsPart = LazyModule.module("services/queue/LazyCommands", () => import("../queue/LazyCommands.ts"))

const queuesPart = LazyModule.module("services/backend/FurtherQueues", () => import("./FurtherQueues.ts"))

const imagesPart = LazyModule.module("services/images/CheckedImages", () => import("../images/CheckedImages.ts"))

const onQueue = (
  drivers: Drivers,
  label: string | undefined,
  own?: Context.Context<never>
): Context.Context<OnQueue> => {
  const { cache, device, kernelTimes, openQueue, queue } = drivers
  const further = openQueue === undefined ? undefined : (label: string | undefined) =>
    Effect.map(
      queuesPart.use(({ open }) => open(device, openQueue, label)),
      (opened) => Context.get(onQueue({ ...drivers, ...opened }, label, opened.own), CommandQueue)
    )
  const parts: Parts = {
    commands: commandsPart,
    dispatches: commandsPart.map(({ Dispatches }) => new Dispatches(queue, device, cache, kernelTimes)),
    images: imagesPart,
    further
  }
  return servicesOf(drivers, parts, label, own)
}
