/**
 * The options of the layers, as a driver may get them: plain data of the types that it wants. Dawn's binding ends the
 * process over others, a symbol among them.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as Label from "../../domain/Label.ts"
import { shown } from "../../domain/ShownValue.ts"

const operation = "WebGpu.layer"

/** @internal */
export interface GivenOptions {
  readonly powerPreference?: unknown
  readonly forceFallbackAdapter?: unknown
  readonly label?: unknown
}

/**
 * What is wrong with options that any program can have passed, or `undefined`.
 *
 * @internal
 */
export const problem = (options: GivenOptions | undefined): GpuError | undefined => {
  if (options === undefined) return undefined
  if (typeof options !== "object" || options === null) {
    return invalidRequest(operation, `${shown(options)} was given for options`, "Pass an object, or leave it out.")
  }
  const { forceFallbackAdapter, label, powerPreference } = options
  if (powerPreference !== undefined && powerPreference !== "low-power" && powerPreference !== "high-performance") {
    return invalidRequest(
      operation,
      `powerPreference ${shown(powerPreference)} is unknown`,
      `Pass "low-power" or "high-performance", or leave it out.`
    )
  }
  if (forceFallbackAdapter !== undefined && typeof forceFallbackAdapter !== "boolean") {
    return invalidRequest(
      operation,
      `forceFallbackAdapter ${shown(forceFallbackAdapter)} is no boolean`,
      "Pass true or false, or leave it out."
    )
  }
  return Label.problem(operation, label)
}

/**
 * The same for the flags of Dawn in Node.
 *
 * @internal
 */
export const flagsProblem = (flags: unknown): GpuError | undefined => {
  if (flags === undefined) return undefined
  const hint = `Pass texts, as ["backend=null"], or leave them out.`
  if (!Array.isArray(flags)) return invalidRequest(operation, `${shown(flags)} was given for flags`, hint)
  // A hole is no text either, which some() would pass over.
  const wrong = Array.from(flags, (flag: unknown) => flag).findIndex((flag) => typeof flag !== "string")
  return wrong === -1 ? undefined : invalidRequest(operation, `the flag ${shown(flags[wrong])} is no string`, hint)
}
