/**
 * Images as plain arrays of bytes: the results that commands on a device must have.
 *
 * @internal
 */
import { ImageElement, ImageFormat, ImageShape } from "effect-gpu-pool/images"
import type { Random } from "../Random.ts"

/** A model of one image. */
export interface ImageModel {
  readonly shape: ImageShape.ImageShape
  readonly format: ImageFormat.ImageFormat
  readonly bytes: Uint8Array<ArrayBuffer>
}

export type Region = ImageShape.ImageRegion

/**
 * Elements that keep their bytes on every device: each has only one encoding, unlike NaN or the lowest signed
 * normalised number.
 */
export const anyElements = (
  random: Random,
  format: ImageFormat.ImageFormat,
  count: number
): Uint8Array<ArrayBuffer> => {
  const size = ImageFormat.elementBytes(format)
  const bytes = new Uint8Array(count * size)
  for (let at = 0; at < count; at++) bytes.set(ImageElement.encodeUnsafe(format, anyValues(random, format)), at * size)
  return bytes
}

/** Values that the format's channels store exactly or nearly. */
export const anyValues = (random: Random, format: ImageFormat.ImageFormat): ReadonlyArray<number> =>
  ImageFormat.channels(format).map(() => anyValue(random, format.type))

const anyValue = (random: Random, type: ImageFormat.ChannelType): number => {
  if (type.startsWith("unorm")) return random.integer(0, 1000) / 1000
  if (type.startsWith("snorm")) return random.integer(-1000, 1000) / 1000
  if (type.startsWith("uint")) return random.integer(0, type === "uint8" ? 255 : 65535)
  if (type.startsWith("sint")) return random.integer(type === "sint8" ? -128 : -32768, type === "sint8" ? 127 : 32767)
  return random.integer(-4000, 4000) / 16
}

/** A small shape of a kind. */
export const anyShape = (random: Random, kind: ImageShape.ImageKind): ImageShape.ImageShape => {
  const width = random.integer(1, 9)
  const shapes = {
    "1d": () => ImageShape.image1d(width),
    "1dArray": () => ImageShape.image1dArray(width, random.integer(1, 4)),
    "1dBuffer": () => ImageShape.image1dBuffer(width),
    "2d": () => ImageShape.image2d(width, random.integer(1, 7)),
    "2dArray": () => ImageShape.image2dArray(width, random.integer(1, 5), random.integer(1, 4)),
    "3d": () => ImageShape.image3d(width, random.integer(1, 5), random.integer(1, 4))
  }
  return shapes[kind]()
}

/** A part of an image, with at least one element. */
export const anyRegion = (random: Random, shape: ImageShape.ImageShape): Region =>
  anyPart(random, ImageShape.extent(shape))

/** A part of an image of that many elements. */
export const anyPart = (random: Random, most: Region["extent"], extent?: Region["extent"]): Region => {
  const lengths = extent ?? [random.integer(1, most[0]), random.integer(1, most[1]), random.integer(1, most[2])]
  return {
    origin: [
      random.integer(0, most[0] - lengths[0]),
      random.integer(0, most[1] - lengths[1]),
      random.integer(0, most[2] - lengths[2])
    ],
    extent: lengths
  }
}

/** The offset of each row of a region, and the row's bytes. */
const rowsOf = function*(
  { format, shape }: ImageModel,
  { extent, origin }: Region
): Generator<readonly [number, number]> {
  const size = ImageFormat.elementBytes(format)
  for (let slice = 0; slice < extent[2]; slice++) {
    for (let row = 0; row < extent[1]; row++) {
      const line = (origin[2] + slice) * shape.height + origin[1] + row
      yield [(line * shape.width + origin[0]) * size, extent[0] * size]
    }
  }
}

/** The bytes of a region, packed. */
export const read = (model: ImageModel, region: Region): Uint8Array<ArrayBuffer> => {
  const packed = new Uint8Array(ImageShape.count(region) * ImageFormat.elementBytes(model.format))
  let at = 0
  for (const [start, bytes] of rowsOf(model, region)) {
    packed.set(model.bytes.subarray(start, start + bytes), at)
    at += bytes
  }
  return packed
}

export const write = (model: ImageModel, region: Region, packed: Uint8Array): void => {
  let at = 0
  for (const [start, bytes] of rowsOf(model, region)) {
    model.bytes.set(packed.subarray(at, at + bytes), start)
    at += bytes
  }
}

export const fill = (model: ImageModel, region: Region, values: ReadonlyArray<number>): void => {
  const element = ImageElement.encodeUnsafe(model.format, values)
  const packed = new Uint8Array(ImageShape.count(region) * element.length)
  for (let at = 0; at < packed.length; at += element.length) packed.set(element, at)
  write(model, region, packed)
}
