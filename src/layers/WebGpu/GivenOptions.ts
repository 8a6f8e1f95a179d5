/**
 * The options of the layers as a driver may get them: plain data of the types that it wants, read once. Dawn's binding ends
 * the process over others, a symbol among them.
 *
 * @internal
 */
import { booleanProblem, membersOf } from "../../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest, isGpuError, make as makeError, Unsupported } from "../../domain/GpuError.ts"
import * as Label from "../../domain/Label.ts"
import { shown } from "../../domain/ShownValue.ts"
import type { AdapterOptions } from "./OpenDevice.ts"

const operation = "WebGpu.layer"

interface DeviceOptions extends AdapterOptions {
  readonly kernelCacheCapacity?: number | undefined
  readonly byteGranular?: boolean | undefined
}

/**
 * A copy of options that any program can have passed, or what is wrong with them.
 *
 * @internal
 */
export const take = (options: DeviceOptions | undefined): DeviceOptions | GpuError => {
  const given = membersOf(operation, options)
  if (isGpuError(given)) return given
  const { byteGranular, forceFallbackAdapter, kernelCacheCapacity, label, powerPreference } = given
  return preferenceProblem(powerPreference) ??
    booleanProblem(operation, "forceFallbackAdapter", forceFallbackAdapter) ??
    granularityProblem(byteGranular) ?? Label.problem(operation, label) ??
    { forceFallbackAdapter, kernelCacheCapacity, label, powerPreference }
}

const preferenceProblem = (preference: unknown): GpuError | undefined =>
  preference === undefined || preference === "low-power" || preference === "high-performance"
    ? undefined
    : invalidRequest(
      operation,
      `powerPreference ${shown(preference)} is unknown`,
      `Pass "low-power" or "high-performance", or leave it out.`
    )

/** Its copies, fills and bindings begin and end at multiples of 4 bytes. */
const granularityProblem = (byteGranular: unknown): GpuError | undefined =>
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

/**
 * The same for the flags of Dawn in Node.
 *
 * @internal
 */
export const takeFlags = (flags: ReadonlyArray<string> | undefined): ReadonlyArray<string> | GpuError => {
  if (flags === undefined) return []
  const hint = `Pass texts, as ["backend=null"], or leave them out.`
  if (!Array.isArray(flags)) return invalidRequest(operation, `${shown(flags)} was given for flags`, hint)
  const taken: ReadonlyArray<unknown> = Array.from(flags)
  const wrong = taken.findIndex((flag) => typeof flag !== "string")
  return wrong === -1
    ? taken as ReadonlyArray<string>
    : invalidRequest(operation, `the flag ${shown(taken[wrong])} is no string`, hint)
}
