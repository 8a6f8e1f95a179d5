/**
 * Images on a WebGPU device: creation, destruction, and what is recorded on its queue.
 *
 * @internal
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import * as BytePattern from "../../../domain/data/BytePattern.ts"
import { type GpuError, isGpuError, limitExceeded, unsupported } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../../domain/images/ImageShape.ts"
import * as Shape from "../../../domain/images/ImageShape.ts"
import type { Resolved } from "../../../domain/images/SamplerOptions.ts"
import type { ImageDescription } from "../../../services/device/DeviceImage.ts"
import type { ImageDriver } from "../../../services/device/ImageDriver.ts"
import * as ImageLike from "../../../services/images/ImageLike.ts"
import { command } from "../commands/EncodedCommand.ts"
import { driverError, inScopes, thrown } from "../commands/ErrorScopes.ts"
import type { WebGpuQueue } from "../commands/WebGpuQueue.ts"
import { CreatedMemory } from "../CreatedMemory.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import { gpuOf } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { bytesOf, copy, copyRows, layout, placeIn, rowBytesOf } from "./TextureCommands.ts"
import * as TextureRows from "./TextureRows.ts"
import { dimensionOf, gpuExtent, textureOf, textureUsage, textureUsageBits, WebGpuImage } from "./WebGpuImage.ts"
import * as WebGpuImageFormat from "./WebGpuImageFormat.ts"
import { descriptorOf, WebGpuSampler } from "./WebGpuSampler.ts"

type Driver = ImageDriver["Service"]

const rowsOf = ({ extent }: ImageRegion): number => extent[1] * extent[2]

export class WebGpuImages implements Omit<Driver, "largest" | "formats"> {
  readonly #opened: OpenDevice
  readonly #device: WebGpuHandle.Device
  readonly #queue: WebGpuQueue
  readonly #memory: CreatedMemory

  constructor(opened: OpenDevice, queue: WebGpuQueue) {
    this.#opened = opened
    this.#device = opened.device
    this.#queue = queue
    this.#memory = new CreatedMemory(opened)
  }

  readonly create: Driver["create"] = (operation, image) => this.#create(operation, image)

  readonly createFromHost: Driver["createFromHost"] = (data, mode, { rowPitch }, image) =>
    mode === "use"
      ? unsupported(
        "Images.fromHost",
        "webgpu",
        "an image in the program's own memory",
        `WebGPU cannot use the program's memory: pass mode "copy".`
      )
      : this.#create("Images.fromHost", image, (texture, size) => {
        // `CheckedImages` replaces this by an error that names the data.
        if (data.byteLength !== ImageFormat.imageBytes(image.format, image.shape)) throw new Error("the data is gone")
        const layout = { bytesPerRow: rowPitch, rowsPerImage: image.shape.height }
        this.#device.queue.writeTexture({ texture }, data, layout, size)
      })

  /** An image around a texture of the program's; one that is taken over is destroyed as any other. */
  adoptUnsafe(gpu: WebGpuHandle.Texture, image: ImageDescription, isBorrowed: boolean): WebGpuImage {
    const adopted = new WebGpuImage(this.#opened.info, image, gpu, isBorrowed)
    if (!isBorrowed) this.#add(adopted)
    return adopted
  }

  readonly destroyUnsafe: Driver["destroyUnsafe"] = (image) => {
    try {
      this.#destroy(image as WebGpuImage)
      return Exit.void
    } catch (cause) {
      return Exit.fail(driverError("GPUTexture.destroy", [thrown(cause)], []))
    }
  }

  /** Recorded work is submitted first, since the device does a write when it is called. */
  readonly writeUnsafe: Driver["writeUnsafe"] = (target, region, data) =>
    this.#queue.write(
      "GPUQueue.writeTexture",
      CommandLabel.write(data.byteLength, target),
      () =>
        this.#device.queue.writeTexture(
          placeIn(target, region.origin),
          data,
          { bytesPerRow: rowBytesOf(target, region), rowsPerImage: region.extent[1] },
          gpuExtent(region.extent)
        )
    )

  readonly readUnsafe: Driver["readUnsafe"] = (source, region, answer) => {
    const { maxBufferSize } = this.#device.limits
    const rowBytes = rowBytesOf(source, region)
    const rows = rowsOf(region)
    const packedBytes = rowBytes * rows
    if (packedBytes > maxBufferSize) {
      answer(tooLarge("Images.read", packedBytes, maxBufferSize))
      return constVoid
    }
    const aligned = TextureRows.alignedRow(rowBytes)
    const pitch = rows === 1 || aligned * rows > maxBufferSize ? rowBytes : aligned
    return this.#queue.readThroughUnsafe({
      label: CommandLabel.read(packedBytes, source),
      bytes: pitch * rows,
      encode: (encoder, mapped) => copyRows(encoder, source, region, pitch, mapped, 0),
      take: (mapped) => TextureRows.packed(mapped, pitch, rowBytes, rows)
    }, answer)
  }

  readonly fillUnsafe: Driver["fillUnsafe"] = (target, region, element) => {
    const pitch = TextureRows.alignedRow(rowBytesOf(target, region))
    const pattern = this.#queue.pattern(BytePattern.wordsOf(element), pitch * rowsOf(region), pitch)
    if (Exit.isFailure(pattern)) return Exit.asVoid(pattern)
    if (pattern.value === undefined) return Exit.void
    const { buffer, bytes } = pattern.value
    return this.#queue.record(command(CommandLabel.fill(bytesOf(target, region), target), (encoder) => {
      for (const { bytesPerRow, extent, origin } of TextureRows.repeated(region, pitch, bytes)) {
        encoder.copyBufferToTexture(
          layout(buffer, 0, bytesPerRow, extent[1]),
          placeIn(target, origin),
          gpuExtent(extent)
        )
      }
    }))
  }

  readonly copyUnsafe: Driver["copyUnsafe"] = (source, target, targetOrigin, region) =>
    this.#queue.record(copy(source, target, targetOrigin, region))

  readonly toBufferUnsafe: Driver["toBufferUnsafe"] = (source, region, target, offset) =>
    this.#queue.record(
      command(
        CommandLabel.copy(bytesOf(source, region), source, target),
        (encoder) =>
          copyRows(encoder, source, region, rowBytesOf(source, region), gpuOf(target), target.origin + offset)
      )
    )

  readonly fromBufferUnsafe: Driver["fromBufferUnsafe"] = (source, offset, target, region) =>
    this.#queue.record(command(CommandLabel.copy(bytesOf(target, region), source, target), (encoder) => {
      for (const rows of TextureRows.rows(region, rowBytesOf(target, region))) {
        encoder.copyBufferToTexture(
          layout(gpuOf(source), source.origin + offset + rows.offset, rows.bytesPerRow, rows.extent[1]),
          placeIn(target, rows.origin),
          gpuExtent(rows.extent)
        )
      }
    }))

  readonly createSampler: Driver["createSampler"] = (options) => {
    const { driverObjects, failures, info, samplers, status } = this.#opened
    if (status.error !== undefined) return Exit.fail(status.error)
    const descriptor = descriptorOf("Images.sampler", options)
    if (isGpuError(descriptor)) return Exit.fail(descriptor)
    const made: Array<WebGpuSampler> = []
    const scopes = inScopes(this.#device, () => {
      made.push(new WebGpuSampler(info, options, this.#device.createSampler(descriptor)))
    })
    failures.follow("GPUDevice.createSampler", scopes, () => [])
    const [sampler] = made
    if (sampler === undefined) return Exit.fail(noSampler())
    samplers.add(sampler)
    driverObjects.add("sampler")
    return Exit.succeed(sampler)
  }

  /** A sampler around the program's, which stays the program's: it is counted nowhere. */
  adoptSamplerUnsafe(gpu: WebGpuHandle.Sampler, options: Resolved): WebGpuSampler {
    return new WebGpuSampler(this.#opened.info, options, gpu)
  }

  readonly destroySamplerUnsafe: Driver["destroySamplerUnsafe"] = (sampler) => {
    sampler.destroyed = true
    if (this.#opened.samplers.delete(sampler as WebGpuSampler)) this.#opened.driverObjects.remove("sampler")
    return Exit.void
  }

  /** With `fill` the texture gets its data in the step in which it is created, before anything else can be done with it. */
  #create(
    operation: string,
    description: ImageDescription,
    fill?: (texture: WebGpuHandle.Texture, size: WebGpuApi.Extent3D) => void
  ): Effect.Effect<WebGpuImage, GpuError> {
    const { format, label, shape, usage } = description
    const texture = shape.kind === "1dArray" ? undefined : WebGpuImageFormat.gpuFormat(format)
    if (texture === undefined) return noTexture(operation, description)
    const size = gpuExtent(Shape.extent(shape))
    return this.#memory.create({
      call: "GPUDevice.createTexture",
      bytes: ImageFormat.imageBytes(format, shape),
      make: () => {
        const gpu = this.#device.createTexture({
          size,
          dimension: dimensionOf(shape.kind),
          format: texture,
          usage: textureUsage(usage) | (fill === undefined ? 0 : textureUsageBits.copyDst),
          ...(label === undefined ? {} : { label })
        })
        const image = new WebGpuImage(this.#opened.info, description, gpu)
        this.#add(image)
        return image
      },
      fill: fill && (({ gpu }) => fill(gpu, size)),
      destroy: (image) => this.#destroy(image)
    })
  }

  #add(image: WebGpuImage): void {
    this.#opened.driverObjects.add("image")
    this.#opened.images.add(image)
    this.#memory.add(ImageFormat.imageBytes(image.format, image.shape))
  }

  /** The texture of an image, or the error if the image is released or another device's. */
  textureUnsafe(operation: string, image: ImageLike.ImageLike): Exit.Exit<WebGpuHandle.Texture, GpuError> {
    const problem = ImageLike.problem(operation, image, this.#opened.info)
    return problem === undefined ? Exit.succeed(textureOf(ImageLike.deviceImage(image))) : Exit.fail(problem)
  }

  #destroy(image: WebGpuImage): void {
    if (image.destroyed) return
    image.destroyed = true
    if (image.isBorrowed) return
    this.#opened.images.delete(image)
    this.#opened.driverObjects.remove("image")
    image.gpu.destroy()
    this.#memory.remove(ImageFormat.imageBytes(image.format, image.shape), true)
  }
}

const noTexture = (operation: string, { format, shape }: ImageDescription): GpuError =>
  shape.kind === "1dArray"
    ? unsupported(
      operation,
      "webgpu",
      "an image of the kind 1dArray",
      "WebGPU has no arrays of 1-D textures: make a 2d image, with a row for each layer."
    )
    : unsupported(
      operation,
      "webgpu",
      `the image format ${ImageFormat.format(format)}`,
      "Images.formats lists what this device has."
    )

const tooLarge = (operation: string, requested: number, limit: number): GpuError =>
  limitExceeded({ operation, requested, limitName: "maxBufferSize", limit, owner: { kind: "device" } })

const noSampler = (): GpuError =>
  driverError("GPUDevice.createSampler", [{ codeName: "unknown", message: "the driver made none" }], [])
