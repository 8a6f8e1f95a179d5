/**
 * How long kernels run on a device. Whoever wants to know is provided to the layer of the device: the others load and run nothing of
 * it. There is one way for all backends: a dispatch that is to be timed says so, and the backend's driver tells what its device tells.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { QueueDriver } from "../QueueDriver.ts"

/**
 * The side of a driver that dispatches.
 *
 * @category models
 * @since 0.1.0
 */
export type Dispatcher = Pick<QueueDriver["Service"], "dispatchUnsafe">

/**
 * The same for a queue of a device, with dispatches that are to be timed.
 *
 * @category models
 * @since 0.1.0
 */
export type KernelTimes = (driver: Dispatcher, info: DeviceInfo) => Dispatcher

/**
 * Read where a device is opened: OpenCL decides then whether a queue is profiled.
 *
 * @category functions
 * @since 0.1.0
 */
export const CurrentKernelTimes: Context.Reference<KernelTimes | undefined> = Context.Reference<
  KernelTimes | undefined
>("effect-gpu-pool/KernelTimes", { defaultValue: () => undefined })
