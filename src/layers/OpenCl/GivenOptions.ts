/**
 * The options of the layers, which programs without types can pass as anything: read once, and checked before they reach
 * koffi.
 *
 * @internal
 */
import { booleanProblem, membersOf } from "../../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import { shown } from "../../domain/ShownValue.ts"
import type { Selector } from "./OpenClSelection.ts"

const operation = "OpenCl.layer"

interface Options {
  readonly platform?: Selector | undefined
  readonly device?: Selector | undefined
  readonly kernelCacheCapacity?: number | undefined
  readonly hostMemory?: boolean | undefined
  readonly byteGranular?: boolean | undefined
  readonly library?: string | undefined
}

/**
 * A copy of options, or what is wrong with them.
 *
 * @internal
 */
export const take = (options: Options | undefined): Options | GpuError => {
  const given = membersOf(operation, options)
  if (isGpuError(given)) return given
  const { byteGranular, device, hostMemory, kernelCacheCapacity, library, platform } = given
  return selectorProblem("platform", platform) ?? selectorProblem("device", device) ??
    booleanProblem(operation, "hostMemory", hostMemory) ?? booleanProblem(operation, "byteGranular", byteGranular) ??
    libraryProblem(library) ?? { byteGranular, device, hostMemory, kernelCacheCapacity, library, platform }
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
