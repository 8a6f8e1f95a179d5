/**
 * What is wrong with a sampler, and what follows from its options.
 *
 * @internal
 */
import { optionsProblem } from "../arguments/ArgumentProblem.ts"
import * as KnownOptions from "../arguments/KnownOptions.ts"
import { shown } from "../arguments/ShownValue.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import { type Addressing, resolve, type Resolved, type SamplerOptions } from "./SamplerOptions.ts"

const known = KnownOptions.of<SamplerOptions>({
  addressing: true,
  filter: true,
  normalizedCoordinates: true,
  mipFilter: true,
  lodMin: true,
  lodMax: true
})

const addressings: ReadonlySet<unknown> = new Set<Addressing>([
  "clampToEdge",
  "clampToBorder",
  "repeat",
  "mirroredRepeat",
  "none"
])

/**
 * What is wrong with options, or `undefined`. Programs without types can pass anything.
 */
export const problem = (options: Resolved): string | undefined => {
  const { addressing, filter, mipFilter, normalizedCoordinates } = options
  if (!addressings.has(addressing)) return `there is no addressing ${shown(addressing)}`
  if (!isFilter(filter)) return `there is no filter ${shown(filter)}`
  if (!isFilter(mipFilter)) return `there is no mipFilter ${shown(mipFilter)}`
  if (typeof normalizedCoordinates !== "boolean") {
    return `normalizedCoordinates ${shown(normalizedCoordinates)} is neither true nor false`
  }
  if (!normalizedCoordinates && (addressing === "repeat" || addressing === "mirroredRepeat")) {
    return `the addressing ${addressing} repeats an image from 0 to 1, but the coordinates are not normalised`
  }
  return levelsProblem(options)
}

/**
 * All options, with the defaults for those left out, or what is wrong with them.
 */
export const checked = (operation: string, options: SamplerOptions | undefined): Resolved | GpuError => {
  const unknown = optionsProblem(operation, options, known)
  if (unknown !== undefined) return unknown
  const resolved = resolve(options)
  const wrong = problem(resolved)
  return wrong === undefined
    ? resolved
    : invalidRequest(operation, wrong, "See SamplerOptions for what goes together.")
}

const isFilter = (filter: unknown): boolean => filter === "nearest" || filter === "linear"

/** Drivers take levels of detail as floats of 32 bits. */
const isLevel = (level: unknown): boolean =>
  typeof level === "number" && level >= 0 && Number.isFinite(Math.fround(level))

const levelsProblem = ({ lodMax, lodMin }: Resolved): string | undefined => {
  if (!isLevel(lodMin)) return `lodMin ${shown(lodMin)} is no finite number of at least 0`
  if (!isLevel(lodMax)) return `lodMax ${shown(lodMax)} is no finite number of at least 0`
  return lodMin > lodMax ? `lodMin ${lodMin} is more than lodMax ${lodMax}` : undefined
}
