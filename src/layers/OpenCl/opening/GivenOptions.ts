/**
 * The options of the layers, which programs without types can pass as anything: read once, and checked before they reach
 * koffi.
 *
 * @since 0.1.0
 */
import { booleanProblem, membersOf } from "../../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../../domain/arguments/KnownOptions.ts"
import { shown } from "../../../domain/arguments/ShownValue.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../../domain/GpuError.ts"
import type { Selector } from "./OpenClSelection.ts"

/**
 * Which device to open.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceOptions {
  /** The platform, by index or by a part of its name in any case; without it, the first that has a usable device. */
  readonly platform?: Selector | undefined
  /**
   * The device, by its index on the platform or by a part of its name in any case; without it, the first usable one.
   */
  readonly device?: Selector | undefined
  /** How many compiled kernels are kept, 256 without it. */
  readonly kernelCacheCapacity?: number | undefined
  /**
   * Whether all buffers and images are of memory that the host can reach (CL_MEM_ALLOC_HOST_PTR), as
   * `BufferUsage.hostMemory` asks for a single buffer. Without it `true` on devices of type CPU, whose memory is the host's
   * anyway: drivers then take it when it is asked for, so that a lack of it is an OutOfMemory; PoCL otherwise ends the
   * process. `false` on other devices.
   */
  readonly hostMemory?: boolean | undefined
  /**
   * Whether reads, writes, copies and fills of buffers, rectangles included, begin and end at any byte, instead of at
   * multiples of 4: `false` without it. It is not portable: a program that relies on it does not run on WebGPU, whose layer
   * answers Unsupported, nor on a device that was opened without it. `limits.copyAlignment` tells which it is.
   */
  readonly byteGranular?: boolean | undefined
}

/**
 * Which device to open, and where the OpenCL loader is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends DeviceOptions {
  /** The file of the OpenCL loader, instead of the system's usual names. */
  readonly library?: string | undefined
}

const device = {
  platform: true,
  device: true,
  kernelCacheCapacity: true,
  hostMemory: true,
  byteGranular: true
} as const

/** Those for functions of OpenCL that are there already. @internal */
export const ofDevice = KnownOptions.of<DeviceOptions>(device)

/** @internal */
export const ofAll = KnownOptions.of<Options>({ ...device, library: true })

/**
 * A copy of options, or what is wrong with them.
 *
 * @internal
 */
export const take = (
  operation: string,
  options: Options | undefined,
  known: KnownOptions.KnownOptions
): Options | GpuError => {
  const given = membersOf(operation, options, known)
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
