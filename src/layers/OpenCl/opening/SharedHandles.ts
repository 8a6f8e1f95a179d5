/**
 * A context and a queue that other code has made, and goes on using: the library retains them while its layer is open,
 * and leaves them unchanged.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { valid } from "../../../domain/arguments/ArgumentProblem.ts"
import { formatted, list } from "../../../domain/arguments/Format.ts"
import * as LayerOptions from "../../../domain/arguments/LayerOptions.ts"
import { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import { deviceUnavailable, type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { handleProblem } from "../memory/AdoptedHandle.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import { type Candidate, nameOf, type OpenClPlatform } from "./OpenClPlatform.ts"
import { type DeviceSettings, OpenDevice } from "./OpenDevice.ts"
import * as OpenOptions from "./OpenOptions.ts"
import { checkQueue } from "./ProgramQueue.ts"

/**
 * Addresses of OpenCL objects that belong together.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handles {
  /** The cl_context. */
  readonly context: bigint
  /** The cl_command_queue, in order, of that context and device. */
  readonly queue: bigint
  /** The cl_device_id. */
  readonly device: bigint
}

/**
 * How to use them.
 *
 * @category models
 * @since 0.1.0
 */
export interface HandleOptions extends Schema.Schema.Type<typeof HandleOptions> {}

const { byteGranular, hostMemory, kernelCacheCapacity } = OpenOptions.DeviceOptions.fields

/** Of {@link HandleOptions}. */
export const HandleOptions = Schema.Struct({
  kernelCacheCapacity,
  hostMemory,
  byteGranular,
  /**
   * The functions of the loader that gave the handles, or a double for tests; those of `OpenCl.load()` when left out.
   */
  api: LayerOptions.any<OpenClApi>()
})

/** What is wrong with handles, or `undefined`. @internal */
export const problem = (operation: string, { context, device, queue }: Handles): GpuError | undefined =>
  handleProblem(operation, context, "cl_context") ?? handleProblem(operation, queue, "cl_command_queue") ??
    handleProblem(operation, device, "cl_device_id")

/** Opens the device of the handles and retains them, or throws why it cannot. @internal */
export const open = (
  operation: string,
  api: OpenClApi,
  platforms: ReadonlyArray<OpenClPlatform>,
  handles: Handles,
  options: DeviceSettings
): OpenDevice => {
  const candidate = find(platforms, handles.device)
  if (candidate === undefined) throw notListed(operation, platforms, handles.device)
  const { device, platform } = candidate
  if (device.unusable !== undefined) {
    throw deviceUnavailable(
      [{ backend: "opencl", device: nameOf(platform, device), why: device.unusable }],
      "Make the context and the queue on another device."
    )
  }
  checkQueue(operation, api, handles.queue, handles)
  const driverObjects = new DriverObjects()
  valid(retain(api, handles, driverObjects))
  return new OpenDevice(api, candidate, handles, driverObjects, options)
}

const find = (platforms: ReadonlyArray<OpenClPlatform>, id: bigint): Candidate | undefined => {
  for (const platform of platforms) {
    const device = platform.devices.find((device) => device.id === id)
    if (device !== undefined) return { platform, device }
  }
  return undefined
}

const notListed = (operation: string, platforms: ReadonlyArray<OpenClPlatform>, id: bigint): GpuError => {
  const all = platforms.flatMap(({ devices }) => devices)
  const known = all.map((device) => `${formatted(device.id)} ${formatted(device.name)}`)
  return invalidRequest(
    operation,
    `the loader lists no device ${formatted(id)}`,
    `Pass the id of one that it lists, which a sub-device is not. It lists ${
      known.length === 0 ? "none" : list(known, ", ", 8)
    }.`
  )
}

const retain = (api: OpenClApi, { context, queue }: Handles, driverObjects: DriverObjects): GpuError | undefined => {
  const ofContext = api.clRetainContext(context)
  if (ofContext !== OpenClCode.success) return driverError({ call: "clRetainContext", code: ofContext })
  const ofQueue = api.clRetainCommandQueue(queue)
  if (ofQueue !== OpenClCode.success) {
    api.clReleaseContext(context)
    return driverError({ call: "clRetainCommandQueue", code: ofQueue })
  }
  driverObjects.add("context")
  driverObjects.add("queue")
  return undefined
}
