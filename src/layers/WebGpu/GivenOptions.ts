/**
 * The options of the layers as a driver may get them: plain data of the types that it wants, read once. Dawn's binding ends
 * the process over others, a symbol among them.
 *
 * @internal
 */
import { booleanProblem, membersOf } from "../../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest, isGpuError, make as makeError, Unsupported } from "../../domain/GpuError.ts"
import * as KnownOptions from "../../domain/KnownOptions.ts"
import * as Label from "../../domain/Label.ts"
import { shown } from "../../domain/ShownValue.ts"
import type { AdapterOptions } from "./OpenDevice.ts"

interface DeviceOptions extends Omit<AdapterOptions, "flags"> {
  readonly kernelCacheCapacity?: number | undefined
  readonly byteGranular?: boolean | undefined
}

interface Options extends DeviceOptions {
  readonly flags?: ReadonlyArray<string> | undefined
}

const ofDevice = {
  powerPreference: true,
  forceFallbackAdapter: true,
  label: true,
  kernelCacheCapacity: true,
  byteGranular: true
} as const

const knownOfDevice = KnownOptions.of<DeviceOptions>(ofDevice)

const known = KnownOptions.of<Options>({ ...ofDevice, flags: true })

/**
 * A copy of options that any program can have passed, or what is wrong with them.
 *
 * @internal
 */
export const take = (operation: string, options: Options | undefined): Options | GpuError =>
  checked(operation, membersOf(operation, options, known))

/**
 * The same for a GPU object that is there already.
 *
 * @internal
 */
export const takeForDevice = (operation: string, options: DeviceOptions | undefined): Options | GpuError =>
  checked(operation, membersOf(operation, options, knownOfDevice))

const checked = (operation: string, given: Options | GpuError): Options | GpuError => {
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
    ? makeError(
      new Unsupported({
        operation,
        backend: "webgpu",
        feature: "an offset or length of single bytes",
        hint: "WebGPU copies multiples of 4 bytes: leave byteGranular out, or open a device of OpenCL or the host."
      })
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
