/**
 * The options of the layers, which programs without types can pass as anything: checked before they reach koffi.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import { shown } from "../../domain/ShownValue.ts"

const operation = "OpenCl.layer"

/**
 * What is wrong with them, or `undefined`.
 *
 * @internal
 */
export const problem = (
  options: {
    readonly platform?: unknown
    readonly device?: unknown
    readonly hostMemory?: unknown
    readonly library?: unknown
  } | undefined
): GpuError | undefined => {
  if (options === undefined) return undefined
  if (typeof options !== "object" || options === null) {
    return invalidRequest(operation, `${shown(options)} was given for options`, "Pass an object, or leave it out.")
  }
  const { device, hostMemory, library, platform } = options
  return selectorProblem("platform", platform) ?? selectorProblem("device", device) ??
    (hostMemory === undefined || typeof hostMemory === "boolean"
      ? undefined
      : invalidRequest(operation, `hostMemory ${shown(hostMemory)} is no boolean`, "Pass true or false.")) ??
    libraryProblem(library)
}

/**
 * What is wrong with the file of a loader, or `undefined`.
 *
 * @internal
 */
export const libraryProblem = (library: unknown): GpuError | undefined =>
  library === undefined || typeof library === "string"
    ? undefined
    : invalidRequest(operation, `the library ${shown(library)} is no string`, "Pass the name of the loader's file.")

const selectorProblem = (name: string, selector: unknown): GpuError | undefined =>
  selector === undefined || typeof selector === "string" || Number.isSafeInteger(selector) ? undefined : invalidRequest(
    operation,
    `the ${name} ${shown(selector)} is neither an index nor a name`,
    "Pass its index in the list, a part of its name, or leave it out."
  )
