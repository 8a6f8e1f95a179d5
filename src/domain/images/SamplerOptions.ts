/**
 * How a kernel reads an image between and beyond its elements.
 *
 * @see pyopencl.Sampler
 * @since 0.1.0
 */
/**
 * What a coordinate outside the image reads: the edge, the border's transparent black (opaque where the format has no
 * alpha), or the image repeated, mirrored every other time with `"mirroredRepeat"`. `"none"` promises that there is no
 * such coordinate. `"repeat"` and `"mirroredRepeat"` need normalised coordinates, `"clampToBorder"` and `"none"` are
 * not everywhere: see `Images.sampler`.
 *
 * @category models
 * @since 0.1.0
 */
export type Addressing = "clampToEdge" | "clampToBorder" | "repeat" | "mirroredRepeat" | "none"

/**
 * The options of a sampler. Images of this library have one level of detail. Options for mip levels matter only for
 * images made by other code, in hand-written kernels.
 *
 * @category models
 * @since 0.1.0
 */
export interface SamplerOptions {
  /** `"clampToEdge"` without it. */
  readonly addressing?: Addressing | undefined
  /** The nearest element, or the mean of the nearest ones weighted by distance; `"nearest"` without it. */
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
 * The options of an existing sampler: all of them.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resolved extends Required<{ readonly [O in keyof SamplerOptions]: NonNullable<SamplerOptions[O]> }> {}

const coarsest = 32

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
 * Whether options set something about mip levels that is not the default.
 *
 * @category predicates
 * @since 0.1.0
 */
export const choosesLevels = ({ lodMax, lodMin, mipFilter }: Resolved): boolean =>
  mipFilter !== "nearest" || lodMin !== 0 || lodMax !== coarsest
