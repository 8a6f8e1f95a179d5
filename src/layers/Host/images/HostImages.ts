/**
 * The host backend's side of images: commands on rectangles of the buffers that their elements are in, on the one
 * queue.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { defaultUsage } from "../../../domain/BufferUsage.ts"
import { allocate } from "../../../domain/data/HostData.ts"
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"
import { packed } from "../../../domain/data/RectangleRows.ts"
import { outOfMemory } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { ImageKind, ImageOrigin, ImageRegion, ImageShape } from "../../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { ImageDriver } from "../../../services/device/ImageDriver.ts"
import * as HostCommand from "../HostCommand.ts"
import type { HostDevice } from "../HostDevice.ts"
import type { HostQueue } from "../HostQueue.ts"
import { HostImage, HostSampler } from "./HostImage.ts"

type Driver = ImageDriver["Service"]

/** As on today's devices. Memory runs out long before. */
const longest = 16_384
const deepest = 2048
const largestOverBuffer = 134_217_728

const largest: { readonly [K in ImageKind]: Omit<ImageShape, "kind"> } = {
  "1d": { width: longest, height: 1, depth: 1, layers: 1 },
  "1dArray": { width: longest, height: 1, depth: 1, layers: deepest },
  "1dBuffer": { width: largestOverBuffer, height: 1, depth: 1, layers: 1 },
  "2d": { width: longest, height: longest, depth: 1, layers: 1 },
  "2dArray": { width: longest, height: longest, depth: 1, layers: deepest },
  "3d": { width: deepest, height: deepest, depth: deepest, layers: 1 }
}

/** Depth formats are for 2-D images and arrays of them, on every device. */
const withoutDepth = ImageFormat.all.filter(({ order }) => order !== "depth")

export class HostImages implements Driver {
  readonly #device: HostDevice
  readonly #queue: HostQueue

  constructor(device: HostDevice, queue: HostQueue) {
    this.#device = device
    this.#queue = queue
  }

  readonly largest: Driver["largest"] = (kind) => largest[kind]

  readonly formats: Driver["formats"] = (_, kind) =>
    kind === "2d" || kind === "2dArray" ? ImageFormat.all : withoutDepth

  readonly create: Driver["create"] = (_, image) =>
    Effect.map(
      this.#device.createBuffer(
        ImageFormat.imageBytes(image.format, image.shape),
        defaultUsage,
        image.label,
        false,
        "image"
      ),
      (buffer) => new HostImage(this.#device.info, image, buffer)
    )

  readonly createFromHost: Driver["createFromHost"] = (data, mode, pitches, image) =>
    Effect.map(this.#device.createFromHost(data, mode, defaultUsage, image.label, "image"), (buffer) => {
      const made = new HostImage(this.#device.info, image, buffer, pitches)
      made.pinned = buffer.pinned
      return made
    })

  readonly createOverUnsafe: NonNullable<Driver["createOverUnsafe"]> = ({ origin, root, usage }, image) => {
    const size = ImageFormat.imageBytes(image.format, image.shape)
    return Exit.map(
      this.#device.createRegionUnsafe({ parent: root, origin }, size, usage, image.label, "image"),
      (region) => new HostImage(this.#device.info, image, region)
    )
  }

  readonly destroyUnsafe: Driver["destroyUnsafe"] = (image) => {
    image.destroyed = true
    return this.#device.destroyBufferUnsafe(own(image).buffer)
  }

  readonly writeUnsafe: Driver["writeUnsafe"] = (target, region, data) => {
    const memory = allocate(data.byteLength)
    if (memory === undefined) return Exit.fail(outOfMemory(data.byteLength))
    const rows = new Uint8Array(memory)
    rows.set(data)
    return this.#queue.writeRectUnsafe(extentOf(target, region), bufferOf(target), placeOf(target, region.origin), rows)
  }

  readonly readUnsafe: Driver["readUnsafe"] = (source, region, answer) =>
    this.#queue.readRectUnsafe(extentOf(source, region), bufferOf(source), placeOf(source, region.origin), answer)

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, region, element) =>
    this.#queue.recordUnsafe(
      "Images.fill",
      HostCommand.fill(bufferOf(target), extentOf(target, region), placeOf(target, region.origin), element)
    )

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, target, targetOrigin, region) =>
    this.#queue.copyRectUnsafe(
      extentOf(source, region),
      bufferOf(source),
      placeOf(source, region.origin),
      bufferOf(target),
      placeOf(target, targetOrigin)
    )

  readonly toBufferUnsafe: Driver["toBufferUnsafe"] = (source, region, target, offset) => {
    const [extent, from] = [extentOf(source, region), placeOf(source, region.origin)]
    return this.#queue.copyRectUnsafe(extent, bufferOf(source), from, target, packedAt(extent, offset))
  }

  readonly fromBufferUnsafe: Driver["fromBufferUnsafe"] = (source, offset, target, region) => {
    const [extent, to] = [extentOf(target, region), placeOf(target, region.origin)]
    return this.#queue.copyRectUnsafe(extent, source, packedAt(extent, offset), bufferOf(target), to)
  }

  readonly createSampler: Driver["createSampler"] = (options) => {
    const lost = this.#device.operation()
    if (lost !== undefined) return Exit.fail(lost)
    const sampler = new HostSampler(this.#device.info, options)
    this.#device.addSampler(sampler)
    return Exit.succeed(sampler)
  }

  readonly destroySamplerUnsafe: Driver["destroySamplerUnsafe"] = (sampler) => {
    this.#device.removeSampler(sampler)
    return Exit.void
  }
}

/** What arrives here is checked: it is an image of this backend. */
const own = (image: DeviceImage): HostImage => image as HostImage

/** Gives the buffer the image's present label, for errors. */
const bufferOf = (image: DeviceImage) => {
  const { buffer } = own(image)
  buffer.label = image.label
  return buffer
}

const extentOf = ({ format }: DeviceImage, { extent: [width, height, slices] }: ImageRegion): Extent => [
  width * ImageFormat.elementBytes(format),
  height,
  slices
]

const placeOf = (image: DeviceImage, [x, y, z]: ImageOrigin): Place => {
  const { format, rowPitch, shape, slicePitch } = own(image)
  const elementBytes = ImageFormat.elementBytes(format)
  const origin = [x * elementBytes, y, z] as const
  const offset = origin[0] + y * rowPitch + z * slicePitch
  return { origin, rowPitch, slicePitch, offset, end: shape.depth * shape.layers * slicePitch }
}

const packedAt = (extent: Extent, offset: number): Place => {
  const place = packed(extent)
  return { ...place, origin: [offset, 0, 0], offset, end: offset + place.end }
}
