/**
 * The options of the layers as a driver may get them: plain data of the types that it wants, read once. Dawn's binding ends
 * the process over others, a symbol among them.
 *
 * @internal
 */
import { membersOf } from "../../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import * as Label from "../../domain/Label.ts"
import { shown } from "../../domain/ShownValue.ts"
import type { AdapterOptions } from "./OpenDevice.ts"

const operation = "WebGpu.layer"

interface DeviceOptions extends AdapterOptions {
  readonly kernelCacheCapacity?: number | undefined
}

/**
 * A copy of options that any program can have passed, or what is wrong with them.
 *
 * @internal
 */
export const take = (options: DeviceOptions | undefined): DeviceOptions | GpuError => {
  const given = membersOf(operation, options)
  if (isGpuError(given)) return given
  const { forceFallbackAdapter, kernelCacheCapacity, label, powerPreference } = given
  return preferenceProblem(powerPreference) ?? fallbackProblem(forceFallbackAdapter) ??
    Label.problem(operation, label) ?? { forceFallbackAdapter, kernelCacheCapacity, label, powerPreference }
}

const preferenceProblem = (preference: unknown): GpuError | undefined =>
  preference === undefined || preference === "low-power" || preference === "high-performance"
    ? undefined
    : invalidRequest(
      operation,
      `powerPreference ${shown(preference)} is unknown`,
      `Pass "low-power" or "high-performance", or leave it out.`
    )

const fallbackProblem = (fallback: unknown): GpuError | undefined =>
  fallback === undefined || typeof fallback === "boolean" ? undefined : invalidRequest(
    operation,
    `forceFallbackAdapter ${shown(fallback)} is no boolean`,
    "Pass true or false, or leave it out."
  )

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
