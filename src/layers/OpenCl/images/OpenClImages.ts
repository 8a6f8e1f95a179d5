/**
 * The OpenCL backend's side of images, on the device's one queue.
 *
 * Host data goes through memory of its own that is kept until the command has ended, as for buffers. Devices below
 * OpenCL 1.2 create images by other functions, and those without image support by none: both have no formats here.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import * as BytePattern from "../../../domain/data/BytePattern.ts"
import { allocate } from "../../../domain/data/HostData.ts"
import { format as formatDevice } from "../../../domain/device/DeviceInfo.ts"
import { type GpuError, isGpuError, limitExceeded, outOfMemory, unsupported } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage, ImageDescription } from "../../../services/device/DeviceImage.ts"
import type { ImageDriver } from "../../../services/device/ImageDriver.ts"
import type { OpenClQueue } from "../commands/OpenClQueue.ts"
import { CL_NON_BLOCKING } from "../commands/Recorder.ts"
import * as InfoQuery from "../InfoQuery.ts"
import { CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../memory/MemoryFlags.ts"
import { handleOf, LiveObjects, OpenClImage, ownOf, placeOf } from "../memory/OpenClObject.ts"
import { OpenClPart, placeInWhole } from "../memory/SubBuffers.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { onMemory } from "../OpenClError.ts"
import { isNvidia, isOclgrind, isPocl } from "../opening/OpenClDevices.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { ElementSizes } from "./ElementSizes.ts"
import * as ImageMapping from "./ImageMapping.ts"
import * as OpenClImageFormat from "./OpenClImageFormat.ts"
import { fillColor } from "./OpenClImageFormat.ts"
import {
  description,
  eachLayer,
  extent,
  hasSliceGaps,
  hostPitches,
  isRow,
  type Layout,
  place,
  sizes
} from "./OpenClImageLayout.ts"
import { hasImages, OpenClSamplers } from "./OpenClSamplers.ts"

type Driver = ImageDriver["Service"]

const CL_INVALID_MEM_OBJECT = -38
const CL_INVALID_IMAGE_SIZE = -40
const CL_INVALID_BUFFER_SIZE = -61

const limits = {
  width2d: 0x1011,
  height2d: 0x1012,
  width3d: 0x1013,
  height3d: 0x1014,
  depth3d: 0x1015,
  bufferElements: 0x1040,
  arraySize: 0x1041
}

/** The most host memory for the elements of a fill, where the driver's own fill would not be exact. */
const patternBytes = 1024 * 1024

export class OpenClImages implements Driver {
  readonly #device: OpenDevice
  readonly #queue: OpenClQueue
  readonly #api: OpenClApi
  readonly samplers: OpenClSamplers
  readonly #images: LiveObjects<OpenClImage>
  readonly #elementSizes: ElementSizes
  readonly #code = new Int32Array(new ArrayBuffer(4))

  /** On a further queue the images and samplers are those of the first one, which has `first`. */
  constructor(device: OpenDevice, queue: OpenClQueue, first?: OpenClImages) {
    this.#device = device
    this.#queue = queue
    this.#api = device.api
    this.samplers = first?.samplers ?? new OpenClSamplers(device)
    this.#images = first === undefined ? new LiveObjects(device, "clReleaseMemObject") : first.#images
    this.#elementSizes = first === undefined ? new ElementSizes(device) : first.#elementSizes
    if (first === undefined) device.beforeBuffers.push(() => this.#close())
  }

  /** 1 in each dimension where there are no images at all: the extent of a dimension that an image lacks. */
  readonly largest: Driver["largest"] = (kind) => {
    const { arraySize, bufferElements, depth3d, height2d, height3d, width2d, width3d } = limits
    const isArray = kind === "1dArray" || kind === "2dArray"
    if (kind === "3d") {
      return { width: this.#limit(width3d), height: this.#limit(height3d), depth: this.#limit(depth3d), layers: 1 }
    }
    return {
      width: this.#limit(kind === "1dBuffer" ? bufferElements : width2d),
      height: ImageShape.isFlat(kind) ? 1 : this.#limit(height2d),
      depth: 1,
      layers: isArray ? this.#limit(arraySize) : 1
    }
  }

  readonly formats: Driver["formats"] = (usage, kind) => {
    if (!hasImages(this.#device)) return []
    const count = new Uint32Array(new ArrayBuffer(4))
    const asked = [
      this.#device.context,
      OpenClImageFormat.accessFlag(usage),
      OpenClImageFormat.kindCodes[kind]
    ] as const
    const counted = this.#api.clGetSupportedImageFormats(...asked, 0, null, count)
    if (counted !== OpenClCode.success || count[0] === 0) return []
    const codes = new Uint32Array(new ArrayBuffer(count[0]! * OpenClImageFormat.formatBytes))
    const listed = this.#api.clGetSupportedImageFormats(...asked, count[0]!, codes, null)
    if (listed !== OpenClCode.success) return []
    const formats: Array<ImageFormat.ImageFormat> = []
    for (let at = 0; at < codes.length; at += 2) {
      const format = OpenClImageFormat.decode(codes[at]!, codes[at + 1]!)
      // NVIDIA's driver lists formats that the standard does not have, as snorm16 in the order bgra.
      const isKnown = format !== undefined && ImageFormat.problem(format) === undefined
      if (!isKnown || !this.#isSound(format, usage)) continue
      if (this.#elementSizes.agree(format, OpenClImageFormat.accessFlag(usage), kind)) formats.push(format)
    }
    return formats
  }

  readonly create: Driver["create"] = (operation, image) =>
    Effect.suspend(() => {
      const made = this.#make(operation, image)
      if (Exit.isFailure(made)) return made
      // The driver finds memory for it, or says that it has none.
      const touched = this.#queue.touchUnsafe(made.value)
      if (Exit.isSuccess(touched)) return made
      this.destroyUnsafe(made.value)
      return Exit.failCause(touched.cause)
    })

  readonly createFromHost: Driver["createFromHost"] = (data, mode, pitches, image) =>
    Effect.suspend(() => {
      const { shape } = image
      const { hostMemoryFlag, platform } = this.#device
      const bytes = ImageFormat.imageBytes(image.format, shape)
      const hasGaps = mode === "use" && pitches.slicePitch * shape.depth * shape.layers > bytes
      if (hasGaps && isOclgrind(platform)) return this.#noGaps("rows or slices")
      if (hasGaps && isNvidia(platform) && hasSliceGaps(shape, pitches)) return this.#noGaps("slices")
      const flag = mode === "use" ? CL_MEM_USE_HOST_PTR : hostMemoryFlag | CL_MEM_COPY_HOST_PTR
      const made = this.#created(
        image,
        OpenClImageFormat.accessFlag(image.usage) | flag,
        hasGaps ? hostPitches(shape.kind, pitches) : {},
        data,
        (code) => this.#notCreated("Images.fromHost", bytes, code)
      )
      if (Exit.isSuccess(made) && mode === "use") made.value.pinned = data
      return made
    })

  /** The image has the buffer's memory and kernel access, so there is nothing to touch. */
  readonly createOverUnsafe: NonNullable<Driver["createOverUnsafe"]> = (buffer, image) => {
    const own = ownOf(buffer)
    if (isGpuError(own)) return Exit.fail(own)
    return this.#created(image, 0, { buffer: own.handle }, null, (code) => this.#notOver(buffer, code))
  }

  /** Takes over a reference to a cl_mem that the program made, and releases it as that of any image. */
  adoptUnsafe(memory: bigint, image: ImageDescription): OpenClImage {
    return this.#images.adopt(new OpenClImage(memory, this.#device.info, image))
  }

  readonly destroyUnsafe: Driver["destroyUnsafe"] = (image) =>
    image.destroyed || !(image instanceof OpenClImage) ? Exit.void : this.#images.releaseUnsafe(image)

  readonly writeUnsafe: Driver["writeUnsafe"] = (target, region, data) => {
    const memory = allocate(data.byteLength)
    if (memory === undefined) return Exit.fail(outOfMemory(data.byteLength))
    new Uint8Array(memory).set(data)
    return this.#write(target, region, memory, CommandLabel.write(bytesOf(target, region), target))
  }

  readonly readUnsafe: Driver["readUnsafe"] = (source, region, answer) => {
    const bytes = bytesOf(source, region)
    return this.#queue.enqueueReads(
      { call: "clEnqueueReadImage", bytes, label: CommandLabel.read(bytes, source), images: [source] },
      answer,
      [[handleOf(source), CL_NON_BLOCKING, ...areaOf(source, region), 0, 0]]
    )
  }

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, region, element) => {
    // PoCL 3.1 ends the process when it fills an image over a buffer. So the buffer is filled, with the element as its pattern.
    if (target.beneath !== undefined) {
      const { length } = element
      const bytes = region.extent[0] * length
      const place = placeOf(target.beneath, length)
      if (isGpuError(place)) return Exit.fail(place)
      return this.#queue.enqueue(
        { call: "clEnqueueFillBuffer", bytes, label: CommandLabel.fill(bytes, target), images: [target] },
        place.handle,
        element,
        length,
        place.start + region.origin[0] * length,
        bytes
      )
    }
    const color = fillColor(target.format, element)
    if (color === undefined) return this.#fillByWriting(target, region, element)
    const bytes = bytesOf(target, region)
    return this.#queue.enqueue(
      { call: "clEnqueueFillImage", bytes, label: CommandLabel.fill(bytes, target), images: [target] },
      handleOf(target),
      color,
      ...areaOf(target, region)
    )
  }

  /**
   * OpenCL counts the layers of a 1-D array as rows and those of others as slices, so several of them cannot go from the
   * one to the other in one command: they go layer by layer.
   */
  readonly copyUnsafe: Driver["copyUnsafe"] = (source, target, targetOrigin, region) => {
    if (isRow(source) === isRow(target)) return this.#copy(source, target, targetOrigin, region)
    const [x, y, z] = targetOrigin
    return eachLayer(region, (layer, before) => this.#copy(source, target, [x, y, z + before], layer))
  }

  /** PoCL ends the process when a sub-buffer is copied to or from an image: the library names the whole buffer instead. */
  readonly toBufferUnsafe: Driver["toBufferUnsafe"] = (source, region, target, offset) => {
    if (this.#needsRow(source, region)) {
      return this.#byRow("Images.toBuffer", source, region, (row, layer, before) => {
        const copied = this.#copy(source, row, [0, 0, 0], layer)
        return Exit.isFailure(copied)
          ? copied
          : this.toBufferUnsafe(row, ImageShape.whole(row.shape), target, offset + before)
      })
    }
    const place = placeInWhole(target, this.#device.platform)
    if (isGpuError(place)) return Exit.fail(place)
    const bytes = bytesOf(source, region)
    return this.#queue.enqueue(
      {
        call: "clEnqueueCopyImageToBuffer",
        bytes,
        label: CommandLabel.copy(bytes, source, target),
        images: [source],
        buffers: [target]
      },
      handleOf(source),
      place.handle,
      ...areaOf(source, region),
      place.start + offset
    )
  }

  readonly fromBufferUnsafe: Driver["fromBufferUnsafe"] = (source, offset, target, region) => {
    if (this.#needsRow(target, region)) {
      return this.#byRow("Images.fromBuffer", target, region, (row, layer, before) => {
        const copied = this.fromBufferUnsafe(source, offset + before, row, ImageShape.whole(row.shape))
        return Exit.isFailure(copied) ? copied : this.#copy(row, target, layer.origin, ImageShape.whole(row.shape))
      })
    }
    const place = placeInWhole(source, this.#device.platform)
    if (isGpuError(place)) return Exit.fail(place)
    const bytes = bytesOf(target, region)
    return this.#queue.enqueue(
      {
        call: "clEnqueueCopyBufferToImage",
        bytes,
        label: CommandLabel.copy(bytes, source, target),
        images: [target],
        buffers: [source]
      },
      place.handle,
      handleOf(target),
      place.start + offset,
      ...areaOf(target, region)
    )
  }

  readonly mapUnsafe: NonNullable<Driver["mapUnsafe"]> = (image, region, access, packed) =>
    ImageMapping.map(this.#api, this.#queue.mappings, image, region, access, packed)

  readonly createSampler: Driver["createSampler"] = (options) => this.samplers.create(options)

  readonly destroySamplerUnsafe: Driver["destroySamplerUnsafe"] = (sampler) => this.samplers.destroyUnsafe(sampler)

  /**
   * PoCL 3.1 lists images with one half per element, but its kernels read other numbers from them and write others: 234
   * instead of 0.126, in every kind of image. Without kernels they are as good as any.
   */
  #isSound({ order, type }: ImageFormat.ImageFormat, usage: ImageUsage.ImageUsage): boolean {
    if (type !== "float16" || (order !== "r" && order !== "a")) return true
    const forKernels = (usage & (ImageUsage.sampled | ImageUsage.storage)) !== 0
    return !forKernels || !isPocl(this.#device.platform)
  }

  #limit(what: number): number {
    if (!hasImages(this.#device)) return 1
    return Math.max(1, InfoQuery.long(this.#api.clGetDeviceInfo, this.#device.device.id, what) ?? 1)
  }

  /**
   * Dimensions within the device's limits may still exceed its free memory, which is OutOfMemory. PoCL's images are
   * buffers, so an image larger than the largest buffer never fits: that is LimitExceeded.
   */
  #notCreated(operation: string, bytes: number, code: number): GpuError {
    const { maxBufferSize } = this.#device.info.limits
    if (code === CL_INVALID_BUFFER_SIZE && bytes > maxBufferSize) {
      return limitExceeded({
        operation,
        requested: bytes,
        limitName: "maxBufferSize",
        limit: maxBufferSize,
        owner: { kind: "device", name: this.#device.info.name }
      })
    }
    if (code === CL_INVALID_IMAGE_SIZE || code === CL_INVALID_BUFFER_SIZE) return outOfMemory(bytes)
    return onMemory(this.#device.status, bytes, { call: "clCreateImage", code })
  }

  #make(operation: string, image: ImageDescription): Exit.Exit<OpenClImage, GpuError> {
    const flags = OpenClImageFormat.accessFlag(image.usage) | this.#device.hostMemoryFlag
    return this.#created(
      image,
      flags,
      {},
      null,
      (code) => this.#notCreated(operation, ImageFormat.imageBytes(image.format, image.shape), code)
    )
  }

  #created(
    image: ImageDescription,
    flags: number,
    layout: Layout,
    data: Uint8Array<ArrayBuffer> | null,
    failure: (code: number) => GpuError
  ): Exit.Exit<OpenClImage, GpuError> {
    const { context, info, status } = this.#device
    if (status.error !== undefined) return Exit.fail(status.error)
    const format = OpenClImageFormat.encode(image.format)
    const memory = this.#api.clCreateImage(context, flags, format, description(image.shape, layout), data, this.#code)
    return memory === null
      ? Exit.fail(failure(this.#code[0]!))
      : Exit.succeed(this.#images.add(new OpenClImage(memory, info, image)))
  }

  /**
   * Oclgrind 21.10 reads rows of host memory as if there were no gaps between them, and NVIDIA's driver 580 does so with
   * slices of whole rows: it takes the slice pitch and goes by the row pitch alone.
   */
  #noGaps(between: string): GpuError {
    return unsupported(
      "Images.fromHost",
      formatDevice(this.#device.info),
      `an image that uses host memory with gaps between ${between}`,
      "Let the data be copied, or lay it out without gaps."
    )
  }

  /** PoCL 3.1 makes images over whole buffers only, not over sub-buffers. */
  #notOver(buffer: DeviceBuffer, code: number): GpuError {
    const { parent, size } = buffer
    if (code !== CL_INVALID_MEM_OBJECT || parent === undefined) {
      return onMemory(this.#device.status, size, { call: "clCreateImage", code })
    }
    const [what, hint] = buffer instanceof OpenClPart
      ? ["a part of a slab", "Allocate the buffer from an Allocator, or from a pool without PoolStrategy.arena."]
      : ["a sub-region", "Pass the whole buffer, or allocate one for the image."]
    return unsupported("Images.overBuffer", formatDevice(this.#device.info), `an image over ${what}`, hint)
  }

  #write(
    target: DeviceImage,
    region: ImageShape.ImageRegion,
    memory: ArrayBuffer,
    label: CommandLabel.CommandLabel
  ): Exit.Exit<void, GpuError> {
    return this.#queue.enqueue(
      { call: "clEnqueueWriteImage", bytes: bytesOf(target, region), label, memory, images: [target] },
      handleOf(target),
      CL_NON_BLOCKING,
      ...areaOf(target, region),
      0,
      0,
      memory
    )
  }

  /** Writes some rows at a time from the same host memory, which has at least one row. */
  #fillByWriting(
    target: DeviceImage,
    { extent: [width, height, slices], origin: [x, y, z] }: ImageShape.ImageRegion,
    element: Uint8Array<ArrayBuffer>
  ): Exit.Exit<void, GpuError> {
    const rowBytes = width * element.length
    const rows = Math.min(height, Math.max(1, Math.floor(patternBytes / rowBytes)))
    const memory = allocate(rows * rowBytes)
    if (memory === undefined) return Exit.fail(outOfMemory(rows * rowBytes))
    BytePattern.repeat(new Uint8Array(memory), element)
    for (let slice = 0; slice < slices; slice++) {
      for (let row = 0; row < height; row += rows) {
        const part = {
          origin: [x, y + row, z + slice],
          extent: [width, Math.min(rows, height - row), 1]
        } as const
        const exit = this.#write(target, part, memory, CommandLabel.fill(bytesOf(target, part), target))
        if (Exit.isFailure(exit)) return exit
      }
    }
    return Exit.void
  }

  #copy(
    source: DeviceImage,
    target: DeviceImage,
    targetOrigin: ImageShape.ImageOrigin,
    region: ImageShape.ImageRegion
  ): Exit.Exit<void, GpuError> {
    const bytes = bytesOf(source, region)
    const [origin, size] = areaOf(source, region)
    return this.#queue.enqueue(
      {
        call: "clEnqueueCopyImage",
        bytes,
        label: CommandLabel.copy(bytes, source, target),
        images: [source, target]
      },
      handleOf(source),
      handleOf(target),
      origin,
      place(targetSizes, target, targetOrigin),
      size
    )
  }

  /**
   * NVIDIA's driver 580 answers CL_INVALID_VALUE where one command copies several layers of a 1-D array to or from a buffer, or
   * one that is not the first.
   */
  #needsRow(image: DeviceImage, { extent: [, , layers], origin: [, , first] }: ImageShape.ImageRegion): boolean {
    return isRow(image) && first + layers > 1 && isNvidia(this.#device.platform)
  }

  /** Records the copies of each layer through an array of one, with the bytes of the layers before it. */
  #byRow(
    operation: string,
    { format, label, usage }: DeviceImage,
    region: ImageShape.ImageRegion,
    record: (row: DeviceImage, layer: ImageShape.ImageRegion, before: number) => Exit.Exit<void, GpuError>
  ): Exit.Exit<void, GpuError> {
    const [width] = region.extent
    const row = this.#make(operation, { shape: ImageShape.image1dArray(width, 1), format, usage, label })
    if (Exit.isFailure(row)) return Exit.failCause(row.cause)
    const rowBytes = width * ImageFormat.elementBytes(format)
    const recorded = eachLayer(region, (layer, before) => record(row.value, layer, before * rowBytes))
    // The driver frees it when the copies have ended.
    const ended = this.destroyUnsafe(row.value)
    return Exit.isFailure(recorded) ? recorded : ended
  }

  #close(): void {
    this.#images.close((image) => this.destroyUnsafe(image))
    this.samplers.close()
  }
}

/** What commands take, which the driver reads within the call. */
const [originSizes, extentSizes, targetSizes] = [sizes(), sizes(), sizes()]

/** The origin and the extent of a region. */
const areaOf = (image: DeviceImage, region: ImageShape.ImageRegion) =>
  [place(originSizes, image, region.origin), extent(extentSizes, image, region)] as const

const bytesOf = ({ format }: DeviceImage, region: ImageShape.ImageRegion): number =>
  ImageShape.count(region) * ImageFormat.elementBytes(format)
