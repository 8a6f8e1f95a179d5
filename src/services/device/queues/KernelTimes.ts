/**
 * How long kernels run on a device. Provide {@link CurrentKernelTimes} to the layer of the device; other programs load
 * and run none of this. It works the same on all backends: a dispatch carries a callback, which the driver calls with
 * the time that the device reports.
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
 * Wraps the dispatching driver of a queue, adding the callback to its dispatches.
 *
 * @category models
 * @since 0.1.0
 */
export type KernelTimes = (driver: Dispatcher, info: DeviceInfo) => Dispatcher

/**
 * Read when a device is opened, since OpenCL decides then whether a queue is profiled.
 *
 * @category functions
 * @since 0.1.0
 */
export const CurrentKernelTimes: Context.Reference<KernelTimes | undefined> = Context.Reference<
  KernelTimes | undefined
>("effect-gpu-pool/KernelTimes", { defaultValue: () => undefined })
