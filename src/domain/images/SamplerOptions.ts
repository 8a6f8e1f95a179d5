/**
 * How a kernel reads an image between and beyond its elements.
 *
 * @see pyopencl.Sampler
 * @since 0.1.0
 */
import { optionsProblem } from "../arguments/ArgumentProblem.ts"
import * as KnownOptions from "../arguments/KnownOptions.ts"
import { shown } from "../arguments/ShownValue.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"

/**
 * What a coordinate outside the image reads: the edge, the border's transparent black (opaque
 * where the format has no alpha), or the image again and again, every other time mirrored. `"none"` promises that there
 * is no such coordinate. `"repeat"` and `"mirroredRepeat"` need normalised coordinates, `"clampToBorder"` and `"none"` are
 * not everywhere: see `Images.sampler`.
 *
 * @category models
 * @since 0.1.0
 */
export type Addressing = "clampToEdge" | "clampToBorder" | "repeat" | "mirroredRepeat" | "none"

/**
 * The options of a sampler. Images of this library have one level of detail: mip levels are chosen among in images that other
 * code has made, by kernels of a program's own.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplerOptions {
  /** `"clampToEdge"` without it. */
  readonly addressing?: Addressing | undefined
  /** The nearest element, or a mean of the nearest ones by their distances; `"nearest"` without it. */
  readonly filter?: "nearest" | "linear" | undefined
  /** Whether coordinates go from 0 to 1 over the image, or count elements; `true` without it. */
  readonly normalizedCoordinates?: boolean | undefined
  /** Whether the nearest mip level is read, or a mean of the two nearest; `"nearest"` without it. */
  readonly mipFilter?: "nearest" | "linear" | undefined
  /** The finest level of detail that is read, 0 or more; 0 without it. */
  readonly lodMin?: number | undefined
  /** The coarsest level of detail that is read, at least `lodMin`; 32 without it, which is more than images can have. */
  readonly lodMax?: number | undefined
}

/**
 * The options of a sampler that there is: all of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resolved {
  readonly addressing: Addressing
  readonly filter: "nearest" | "linear"
  readonly normalizedCoordinates: boolean
  readonly mipFilter: "nearest" | "linear"
  readonly lodMin: number
  readonly lodMax: number
}

const coarsest = 32

const known = KnownOptions.of<SamplerOptions>({
  addressing: true,
  filter: true,
  normalizedCoordinates: true,
  mipFilter: true,
  lodMin: true,
  lodMax: true
})

/**
 * All options, with the defaults for those left out.
 *
 * @category functions
 * @since 0.1.0
 */
export const resolve = (options: SamplerOptions | undefined): Resolved => ({
  addressing: options?.addressing ?? "clampToEdge",
  filter: options?.filter ?? "nearest",
  normalizedCoordinates: options?.normalizedCoordinates ?? true,
  mipFilter: options?.mipFilter ?? "nearest",
  lodMin: options?.lodMin ?? 0,
  lodMax: options?.lodMax ?? coarsest
})

/**
 * Whether options say something of mip levels that does not hold for every sampler.
 *
 * @internal
 */
export const choosesLevels = ({ lodMax, lodMin, mipFilter }: Resolved): boolean =>
  mipFilter !== "nearest" || lodMin !== 0 || lodMax !== coarsest

const addressings: ReadonlySet<unknown> = new Set<Addressing>([
  "clampToEdge",
  "clampToBorder",
  "repeat",
  "mirroredRepeat",
  "none"
])

/**
 * What is wrong with options, or `undefined`. Programs without types can pass anything.
 *
 * @internal
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
 *
 * @internal
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
