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
  const wrong = wordProblem(options)
  if (wrong !== undefined) return wrong
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

const filters = ["nearest", "linear"]

const words: Readonly<Record<"addressing" | "filter" | "mipFilter", ReadonlyArray<unknown>>> = {
  addressing: ["clampToEdge", "clampToBorder", "repeat", "mirroredRepeat", "none"],
  filter: filters,
  mipFilter: filters
}

/** Dawn ends the process where it gets a symbol. */
const wordProblem = (options: Resolved): string | undefined => {
  for (const [name, known] of Object.entries(words)) {
    const given: unknown = options[name as keyof typeof words]
    if (!known.includes(given)) return `${name} ${formatted(given)} is none of ${known.join(", ")}`
  }
  const { normalizedCoordinates } = options
  return typeof normalizedCoordinates === "boolean"
    ? undefined
    : `normalizedCoordinates ${formatted(normalizedCoordinates)} is neither true nor false`
}

/** Drivers take levels of detail as floats of 32 bits. */
const isLevel = (level: number): boolean =>
  typeof level === "number" && level >= 0 && Number.isFinite(Math.fround(level))

const levelsProblem = ({ lodMax, lodMin }: Resolved): string | undefined => {
  if (!isLevel(lodMin)) return `lodMin ${formatted(lodMin)} is no finite number of at least 0`
  if (!isLevel(lodMax)) return `lodMax ${formatted(lodMax)} is no finite number of at least 0`
  return lodMin > lodMax ? `lodMin ${lodMin} is more than lodMax ${lodMax}` : undefined
}
