/**
 * The buckets of histograms of times, which a program can choose.
 *
 * @internal
 */
import { listOf, membersOf } from "effect-gpu-pool/ArgumentProblem"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"

export interface Options {
  readonly durationBoundaries?: ReadonlyArray<number> | undefined
}

const known = KnownOptions.of<Options>({ durationBoundaries: true })

export const usual = [1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60]

/** The upper ends of the buckets in seconds, if any are asked for, or what is wrong with the options. */
export const of = (operation: string, options: Options): ReadonlyArray<number> | undefined | GpuError => {
  const given = membersOf(operation, options, known)
  if (isGpuError(given)) return given
  if (given.durationBoundaries === undefined) return undefined
  const boundaries = listOf(operation, "durationBoundaries", given.durationBoundaries)
  if (isGpuError(boundaries)) return boundaries
  const hint = "Pass times in seconds, as [0.001, 0.01, 0.1], from the least up; a last bucket for all others is added."
  if (boundaries.length === 0) return invalidRequest(operation, "durationBoundaries is empty", hint)
  const at = boundaries.findIndex((boundary, index) =>
    typeof boundary !== "number" || !(boundary > (boundaries[index - 1] ?? 0)) || boundary === Infinity
  )
  return at < 0
    ? boundaries
    : invalidRequest(operation, `durationBoundaries[${at}] is ${formatted(boundaries[at])}`, hint)
}
