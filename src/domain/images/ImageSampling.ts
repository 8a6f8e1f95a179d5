/**
 * How a sampler reads an image, by the rules of OpenCL: section 8.2 of its C specification says which elements a
 * coordinate reads, for each addressing and filter. The host backend follows them; devices may round weights more
 * coarsely.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html#addressing-and-filter-modes
 * @since 0.1.0
 */
import type { Rgba } from "./ImageElement.ts"
import * as ImageShape from "./ImageShape.ts"
import type { Sampler } from "./KernelImage.ts"
import { roundHalfEven } from "./RoundHalfEven.ts"

/**
 * The element at whole coordinates; outside the image, its border.
 *
 * @category models
 * @since 0.1.0
 */
export type Texel = (x: number, y: number, z: number) => Rgba

/** Along one axis: an element, its neighbour, and how much the neighbour counts. */
interface Span {
  readonly first: number
  readonly second: number
  readonly share: number
}

const clamped = (index: number, least: number, most: number): number => Math.min(Math.max(index, least), most)

const rounded = (value: number): number => value < 0 ? -roundHalfEven(-value) : roundHalfEven(value)

/** Elements -1 and `size` are the border. */
const addressed = (index: number, size: number, addressing: Sampler["addressing"]): number =>
  addressing === "clampToBorder" ? clamped(index, -1, size) : clamped(index, 0, size - 1)

/** A coordinate in elements of an axis, from 0 to `size` where the image is repeated. */
const unnormalized = (coordinate: number, size: number, { addressing, normalizedCoordinates }: Sampler): number => {
  const place = normalizedCoordinates ? coordinate : coordinate / size
  switch (addressing) {
    case "repeat":
      return (place - Math.floor(place)) * size
    case "mirroredRepeat":
      return Math.abs(place - 2 * rounded(0.5 * place)) * size
    default:
      return normalizedCoordinates ? coordinate * size : coordinate
  }
}

/** The one element that is nearest. */
const nearest = (coordinate: number, size: number, sampler: Sampler): number => {
  const index = Math.floor(unnormalized(coordinate, size, sampler))
  // Floating point may round a coordinate just below the end up to the image's end.
  if (sampler.addressing === "repeat") return index > size - 1 ? index - size : index
  return addressed(index, size, sampler.addressing)
}

const between = (coordinate: number, size: number, sampler: Sampler): Span => {
  const place = unnormalized(coordinate, size, sampler) - 0.5
  const below = Math.floor(place)
  const share = place - below
  if (sampler.addressing === "repeat") {
    const first = below < 0 ? below + size : below
    return { first, second: below + 1 > size - 1 ? below + 1 - size : below + 1, share }
  }
  const { addressing } = sampler
  return { first: addressed(below, size, addressing), second: addressed(below + 1, size, addressing), share }
}

const only: Span = { first: 0, second: 0, share: 0 }

/**
 * Reads an image through a sampler. `z` is a coordinate of a 3-D image, and the number of an array's layer, which is
 * rounded and never between two.
 *
 * @category functions
 * @since 0.1.0
 */
export const sample = (
  shape: ImageShape.ImageShape,
  texel: Texel,
  sampler: Sampler,
  x: number,
  y: number,
  z: number
): Rgba => {
  const { depth, height, kind, layers, width } = shape
  const layer = kind === "1dArray" || kind === "2dArray" ? clamped(rounded(z), 0, layers - 1) : 0
  const isFlat = ImageShape.isFlat(kind)
  if (sampler.filter === "nearest") {
    return texel(
      nearest(x, width, sampler),
      isFlat ? 0 : nearest(y, height, sampler),
      kind === "3d" ? nearest(z, depth, sampler) : layer
    )
  }
  return blend(
    texel,
    between(x, width, sampler),
    isFlat ? only : between(y, height, sampler),
    kind === "3d" ? between(z, depth, sampler) : { first: layer, second: layer, share: 0 }
  )
}

/** An element of weight 0 is not read: a NaN in it would make the whole sum NaN. */
const blend = (texel: Texel, x: Span, y: Span, z: Span): Rgba => {
  let [red, green, blue, alpha] = [0, 0, 0, 0]
  for (let corner = 0; corner < 8; corner++) {
    const [right, lower, deeper] = [(corner & 1) !== 0, (corner & 2) !== 0, (corner & 4) !== 0]
    const weight = part(x, right) * part(y, lower) * part(z, deeper)
    if (weight === 0) continue
    const element = texel(right ? x.second : x.first, lower ? y.second : y.first, deeper ? z.second : z.first)
    red += weight * element[0]
    green += weight * element[1]
    blue += weight * element[2]
    alpha += weight * element[3]
  }
  return [red, green, blue, alpha]
}

const part = ({ share }: Span, isSecond: boolean): number => isSecond ? share : 1 - share
