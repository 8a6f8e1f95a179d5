/**
 * How a kernel reads an image between and beyond its elements.
 *
 * @see pyopencl.Sampler
 * @since 0.1.0
 */
import { shown } from "../ShownValue.ts"

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
 * The three options of a sampler.
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
}

/**
 * All options, with the defaults for those left out.
 *
 * @internal
 */
export const resolve = (options: SamplerOptions | undefined): Resolved => ({
  addressing: options?.addressing ?? "clampToEdge",
  filter: options?.filter ?? "nearest",
  normalizedCoordinates: options?.normalizedCoordinates ?? true
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
 *
 * @internal
 */
export const problem = (options: Resolved): string | undefined => {
  const { addressing, filter, normalizedCoordinates } = options
  if (!addressings.has(addressing)) return `there is no addressing ${shown(addressing)}`
  if (filter !== "nearest" && filter !== "linear") return `there is no filter ${shown(filter)}`
  if (typeof normalizedCoordinates !== "boolean") {
    return `normalizedCoordinates ${shown(normalizedCoordinates)} is neither true nor false`
  }
  if (!normalizedCoordinates && (addressing === "repeat" || addressing === "mirroredRepeat")) {
    return `the addressing ${addressing} repeats an image from 0 to 1, but the coordinates are not normalised`
  }
  return undefined
}
