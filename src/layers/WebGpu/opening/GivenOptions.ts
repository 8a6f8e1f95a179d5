/**
 * The options of the layers as a driver may get them: plain data of the types that it wants, read once. Dawn's binding ends
 * the process over others, a symbol among them.
 *
 * @since 0.1.0
 */
import { booleanProblem, membersOf } from "../../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../../domain/arguments/KnownOptions.ts"
import * as Label from "../../../domain/arguments/Label.ts"
import { shown } from "../../../domain/arguments/ShownValue.ts"
import { type GpuError, invalidRequest, isGpuError, unsupported } from "../../../domain/GpuError.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"

/**
 * How to choose and name the device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceOptions {
  /** Which adapter to prefer where there are several. */
  readonly powerPreference?: WebGpuApi.PowerPreference | undefined
  /** Asks for a software adapter. */
  readonly forceFallbackAdapter?: boolean | undefined
  /** The device's label, in the driver's own messages. */
  readonly label?: string | undefined
  /** How many compiled kernels are kept, 256 without it. */
  readonly kernelCacheCapacity?: number | undefined
  /**
   * What OpenCL and the host can: reads, writes, copies and fills at any byte. WebGPU cannot, so with `true` the layer fails
   * with Unsupported.
   */
  readonly byteGranular?: boolean | undefined
}

/**
 * How to open a device.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends DeviceOptions {
  /**
   * Flags for Dawn in Node, as `backend=null` (a device that runs nothing, with 512 MiB of pretended memory) or
   * `adapter=name`. A browser has none.
   */
  readonly flags?: ReadonlyArray<string> | undefined
}

/**
 * The options for a device that other code has opened, and so chosen and named.
 *
 * @category models
 * @since 0.1.0
 */
export type SharedOptions = Pick<DeviceOptions, "kernelCacheCapacity" | "byteGranular">

/** @internal */
export const ofShared = KnownOptions.of<SharedOptions>({ kernelCacheCapacity: true, byteGranular: true })

const device = {
  powerPreference: true,
  forceFallbackAdapter: true,
  label: true,
  kernelCacheCapacity: true,
  byteGranular: true
} as const

/** Those for a GPU object that is there already. @internal */
export const ofDevice = KnownOptions.of<DeviceOptions>(device)

/** @internal */
export const ofAll = KnownOptions.of<Options>({ ...device, flags: true })

/**
 * A copy of options that any program can have passed, or what is wrong with them.
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
  const { byteGranular, forceFallbackAdapter, kernelCacheCapacity, label, powerPreference } = given
  const problem = preferenceProblem(operation, powerPreference) ??
    booleanProblem(operation, "forceFallbackAdapter", forceFallbackAdapter) ??
    granularityProblem(operation, byteGranular) ?? Label.problem(operation, label)
  if (problem !== undefined) return problem
  const flags = flagsOf(operation, given.flags)
  return isGpuError(flags) ? flags : { flags, forceFallbackAdapter, kernelCacheCapacity, label, powerPreference }
}

const preferenceProblem = (operation: string, preference: unknown): GpuError | undefined =>
  preference === undefined || preference === "low-power" || preference === "high-performance"
    ? undefined
    : invalidRequest(
      operation,
      `powerPreference ${shown(preference)} is unknown`,
      `Pass "low-power" or "high-performance", or leave it out.`
    )

/** Its copies, fills and bindings begin and end at multiples of 4 bytes. */
const granularityProblem = (operation: string, byteGranular: unknown): GpuError | undefined =>
  booleanProblem(operation, "byteGranular", byteGranular) ?? (byteGranular === true
    ? unsupported(
      operation,
      "webgpu",
      "an offset or length of single bytes",
      "WebGPU copies multiples of 4 bytes: leave byteGranular out, or open a device of OpenCL or the host."
    )
    : undefined)

const flagsOf = (
  operation: string,
  flags: ReadonlyArray<string> | undefined
): ReadonlyArray<string> | undefined | GpuError => {
  if (flags === undefined) return undefined
  const hint = `Pass texts, as ["backend=null"], or leave them out.`
  if (!Array.isArray(flags)) return invalidRequest(operation, `${shown(flags)} was given for flags`, hint)
  const taken: ReadonlyArray<unknown> = Array.from(flags)
  const wrong = taken.findIndex((flag) => typeof flag !== "string")
  return wrong === -1
    ? taken as ReadonlyArray<string>
    : invalidRequest(operation, `the flag ${shown(taken[wrong])} is no string`, hint)
}
