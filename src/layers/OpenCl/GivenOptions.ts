/**
 * The options of the layers, which programs without types can pass as anything: read once, and checked before they reach
 * koffi.
 *
 * @internal
 */
import { booleanProblem, membersOf } from "../../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import * as KnownOptions from "../../domain/KnownOptions.ts"
import { shown } from "../../domain/ShownValue.ts"
import type { Selector } from "./OpenClSelection.ts"

interface DeviceOptions {
  readonly platform?: Selector | undefined
  readonly device?: Selector | undefined
  readonly kernelCacheCapacity?: number | undefined
  readonly hostMemory?: boolean | undefined
  readonly byteGranular?: boolean | undefined
}

interface Options extends DeviceOptions {
  readonly library?: string | undefined
}

const ofDevice = {
  platform: true,
  device: true,
  kernelCacheCapacity: true,
  hostMemory: true,
  byteGranular: true
} as const

const knownOfDevice = KnownOptions.of<DeviceOptions>(ofDevice)

const known = KnownOptions.of<Options>({ ...ofDevice, library: true })

/**
 * A copy of options, or what is wrong with them.
 *
 * @internal
 */
export const take = (operation: string, options: Options | undefined): Options | GpuError =>
  checked(operation, membersOf(operation, options, known))

/**
 * The same for functions of OpenCL that are there already.
 *
 * @internal
 */
export const takeForDevice = (operation: string, options: DeviceOptions | undefined): Options | GpuError =>
  checked(operation, membersOf(operation, options, knownOfDevice))

const checked = (operation: string, given: Options | GpuError): Options | GpuError => {
  if (isGpuError(given)) return given
  const { byteGranular, device, hostMemory, kernelCacheCapacity, library, platform } = given
  return selectorProblem(operation, "platform", platform) ?? selectorProblem(operation, "device", device) ??
    booleanProblem(operation, "hostMemory", hostMemory) ?? booleanProblem(operation, "byteGranular", byteGranular) ??
    libraryProblem(operation, library) ??
    { byteGranular, device, hostMemory, kernelCacheCapacity, library, platform }
}

/**
 * What is wrong with the file of a loader, or `undefined`.
 *
 * @internal
 */
export const libraryProblem = (operation: string, library: unknown): GpuError | undefined =>
  library === undefined || typeof library === "string"
    ? undefined
    : invalidRequest(operation, `the library ${shown(library)} is no string`, "Pass the name of the loader's file.")

const selectorProblem = (operation: string, name: string, selector: unknown): GpuError | undefined =>
  selector === undefined || typeof selector === "string" || Number.isSafeInteger(selector) ? undefined : invalidRequest(
    operation,
    `the ${name} ${shown(selector)} is neither an index nor a name`,
    "Pass its index in the list, a part of its name, or leave it out."
  )
