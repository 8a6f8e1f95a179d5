/**
 * Images as host kernels see them, over the bytes of their elements.
 *
 * @internal
 */
import * as ImageBytes from "../../../domain/images/ImageBytes.ts"
import * as ImageChannel from "../../../domain/images/ImageChannel.ts"
import * as ImageElement from "../../../domain/images/ImageElement.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import * as ImageSampling from "../../../domain/images/ImageSampling.ts"
import { isFlat, isSingle } from "../../../domain/images/ImageShape.ts"
import type { ReadableImage, WritableImage } from "../../../domain/images/KernelImage.ts"
import type { ImageArg } from "../../../domain/kernel/KernelArgument.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { HostBuffer } from "../HostMemory.ts"
import type { HostImage } from "./HostImage.ts"

/** What is read outside an image, apart from what a sampler makes of it. */
const nothing: ImageElement.Rgba = [0, 0, 0, 0]

/** Where an element lies, or `undefined` outside the image. Coordinates that the kind lacks are ignored. */
type Place = (x: number, y: number, z: number) => number | undefined

const placeOf = ({ format, rowPitch, shape, slicePitch }: HostImage): Place => {
  const { depth, height, kind, layers, width } = shape
  const elementBytes = ImageFormat.elementBytes(format)
  const slices = depth * layers
  const hasRows = !isFlat(kind)
  const hasSlices = !isSingle(kind)
  return (x, y, z) => {
    const row = hasRows ? Math.floor(y) : 0
    const slice = hasSlices ? Math.floor(z) : 0
    const column = Math.floor(x)
    return column >= 0 && column < width && row >= 0 && row < height && slice >= 0 && slice < slices
      ? slice * slicePitch + row * rowPitch + column * elementBytes
      : undefined
  }
}

/** An image as the body of a kernel sees it; `buffer` has its elements. */
export const kernelImage = (
  { access }: ImageArg,
  image: DeviceImage,
  { base, memory }: HostBuffer
): ReadableImage | WritableImage => {
  const view = new DataView(memory, base)
  // What arrives here is checked: it is an image of this backend.
  return access === "read" ? readable(image as HostImage, view) : writable(image as HostImage, view)
}

const dimensionsOf = ({ shape: { depth, height, layers, width } }: HostImage) => ({ width, height, depth, layers })

const readable = (image: HostImage, view: DataView): ReadableImage => {
  const { format, shape } = image
  const place = placeOf(image)
  const border = ImageElement.border(format)
  const elementAt = (at: number | undefined, otherwise: ImageElement.Rgba): ImageElement.Rgba =>
    at === undefined ? otherwise : ImageElement.toRgbaUnsafe(format, ImageBytes.decodeFrom(format, view, at))
  const texel: ImageSampling.Texel = (x, y, z) => elementAt(place(x, y, z), border)
  return {
    ...dimensionsOf(image),
    load: (x, y = 0, z = 0) => elementAt(place(x, y, z), nothing),
    sample: (sampler, x, y = 0, z = 0) => {
      if (shape.kind === "1dBuffer") throw new TypeError("no sampler reads an image over a buffer: load its elements")
      if (sampler.filter === "linear" && ImageChannel.of(format) !== "float") {
        const name = ImageFormat.format(format)
        throw new TypeError(`a linear sampler reads no ${name} image: load its elements, or take a "nearest" one`)
      }
      return ImageSampling.sample(shape, texel, sampler, x, y, z)
    }
  }
}

const writable = (image: HostImage, view: DataView): WritableImage => {
  const { format } = image
  const place = placeOf(image)
  return {
    ...dimensionsOf(image),
    store: (x, y, z, rgba) => {
      const at = place(x, y, z)
      if (at !== undefined) ImageBytes.encodeInto(format, ImageBytes.fromRgba(format, rgba), view, at)
    }
  }
}
