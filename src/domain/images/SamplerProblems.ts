/**
 * What is wrong with a sampler, and what follows from its options.
 *
 * @internal
 */
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { resolve, type Resolved, type SamplerOptions } from "./SamplerOptions.ts"

/**
 * What is wrong with options, or `undefined`.
 */
export const problem = (options: Resolved): string | undefined => {
  const { addressing, normalizedCoordinates } = options
  if (!normalizedCoordinates && (addressing === "repeat" || addressing === "mirroredRepeat")) {
    return `the addressing ${addressing} repeats an image from 0 to 1, but the coordinates are not normalised`
  }
  return levelsProblem(options)
}

/**
 * All options, with the defaults for those left out, or what is wrong with them.
 */
export const checked = (operation: string, options: SamplerOptions | undefined): Resolved | GpuError => {
  const resolved = resolve(options)
  const wrong = problem(resolved)
  return wrong === undefined
    ? resolved
    : invalidRequest(operation, wrong, "See SamplerOptions for what goes together.")
}

/** Drivers take levels of detail as floats of 32 bits. */
const isLevel = (level: number): boolean => level >= 0 && Number.isFinite(Math.fround(level))

const levelsProblem = ({ lodMax, lodMin }: Resolved): string | undefined => {
  if (!isLevel(lodMin)) return `lodMin ${formatted(lodMin)} is no finite number of at least 0`
  if (!isLevel(lodMax)) return `lodMax ${formatted(lodMax)} is no finite number of at least 0`
  return lodMin > lodMax ? `lodMin ${lodMin} is more than lodMax ${lodMax}` : undefined
}
