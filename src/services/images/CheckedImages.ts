/**
 * The images that programs use: checks every operation, the same way on each backend, and hands it to the driver.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as Label from "../../domain/arguments/Label.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type * as BufferUsageRules from "../../domain/BufferUsageRules.ts"
import * as BufferRange from "../../domain/data/BufferRange.ts"
import type { ElementType } from "../../domain/data/ElementClass.ts"
import * as HostData from "../../domain/data/HostData.ts"
import { overlaps } from "../../domain/data/MemorySpan.ts"
import * as RectangleRows from "../../domain/data/RectangleRows.ts"
import * as WholeElements from "../../domain/data/WholeElements.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type * as ImageArray from "../../domain/images/ImageArray.ts"
import * as ImageArrays from "../../domain/images/ImageArrays.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageRegions from "../../domain/images/ImageRegions.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import * as SamplerProblems from "../../domain/images/SamplerProblems.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import type { Elements } from "../buffers/mapping/MappedArray.ts"
import { ScopedMapping } from "../buffers/mapping/ScopedMapping.ts"
import { validated } from "../calls/Validated.ts"
import { BytesInFlight } from "../device/BytesInFlight.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { DeviceImage, ImageDescription } from "../device/DeviceImage.ts"
import type { ImageDriver } from "../device/ImageDriver.ts"
import * as PinnedMemory from "../device/PinnedMemory.ts"
import type { MapAccess } from "../device/QueueDriver.ts"
import * as Reading from "../device/Reading.ts"
import { logged } from "../device/ReleaseInOrder.ts"
import { ScopedAttachment } from "../device/ScopedAttachment.ts"
import { distrustUnverified } from "../device/UnverifiedMemory.ts"
import * as HostRows from "./HostRows.ts"
import * as ImageAccess from "./ImageAccess.ts"
import { ImageAllocator, type Parts, plain } from "./ImageAllocator.ts"
import * as ImageAxes from "./ImageAxes.ts"
import { ImageCommands } from "./ImageCommands.ts"
import * as ImageLike from "./ImageLike.ts"
import * as ImageMapping from "./ImageMapping.ts"
import * as ImageProblems from "./ImageProblems.ts"
import type { ImageOptions, Images, MapOptions } from "./Images.ts"
import type { MappedImage } from "./MappedImage.ts"
import * as OverBuffer from "./OverBuffer.ts"

type Service = Images["Service"]

/** The images of one device. The operations are properties, so that a service can be spread with some of them replaced. */
export class CheckedImages implements Service {
  readonly #parts: Parts
  readonly #device: DeviceContext["Service"]
  readonly #driver: ImageDriver["Service"]
  readonly #allocator: ImageAllocator
  readonly #pending: BytesInFlight
  readonly #commands: ImageCommands

  constructor(parts: Parts) {
    this.#parts = parts
    this.#device = parts.device
    this.#driver = parts.driver
    this.#allocator = new ImageAllocator(parts)
    this.#pending = BytesInFlight.of(parts.queue)
    this.#commands = new ImageCommands(parts.driver, parts.queue)
  }

  readonly make: Service["make"] = (shape, format, options) =>
    this.#scoped(this.#allocator.create("Images.make", descriptionOf(shape, format, options)))

  readonly overBuffer: Service["overBuffer"] = (buffer, format, options) =>
    ScopedAttachment.acquire("Images.overBuffer", "image", (attachment) => {
      const operation = "Images.overBuffer"
      const { image, memory } = OverBuffer.resolve(operation, this.#device, buffer, format, options ?? {})
      const { createOverUnsafe } = this.#driver
      if (createOverUnsafe === undefined) return OverBuffer.unsupported(operation, this.#device.info)
      valid(this.#allocator.deviceProblem(operation, image))
      const created = createOverUnsafe(memory, image)
      if (Exit.isFailure(created)) return created
      const { value } = created
      value.beneath = memory
      attachment.begin(buffer, (why) => {
        value.ended = why
        return this.#allocator.destroyUnsafe(value, why)
      })
      return created
    })

  readonly fromArray: Service["fromArray"] = (data, shape, options) =>
    validated("Images.fromArray", (operation) => {
      const bytes = valid(HostData.bytes(operation, data))
      const format = valid(ImageArrays.formatOf(operation, data, options?.channels ?? 1, options?.normalized ?? false))
      const image = descriptionOf(shape, format, options)
      valid(this.#allocator.problem(operation, image))
      valid(ImageUsageRules.lackProblem(operation, image.usage, ImageUsage.copyDst))
      valid(HostRows.lengthProblem(
        operation,
        bytes.byteLength,
        ImageFormat.imageBytes(format, shape),
        ImageShape.format(shape)
      ))
      return Effect.tap(this.make(shape, format, image), (made) => this.write(made, data))
    })

  readonly fromHost: Service["fromHost"] = (data, shape, format, options) =>
    this.#scoped(validated("Images.fromHost", (operation) => {
      const image = descriptionOf(shape, format, options)
      valid(this.#allocator.problem(operation, image))
      valid(Label.problem(operation, image.label))
      const { bytes, mode, pitches } = HostRows.fromHost(operation, data, image, options ?? {})
      const { byteLength } = bytes
      return Effect.mapError(
        this.#driver.createFromHost(bytes, mode, pitches, plain(image)),
        (error) => PinnedMemory.changedProblem(operation, bytes, byteLength) ?? error
      )
    }))

  readonly hostArray: Service["hostArray"] = (image, type) =>
    validated("Images.hostArray", (operation) => {
      valid(this.#device.status.error)
      valid(ImageLike.problem(operation, image, this.#device.info))
      const view = valid(PinnedMemory.viewOf(operation, "image", ImageLike.deviceImage(image).pinned, type))
      // Only a mapping updates the program's memory: the driver may keep the contents elsewhere.
      return Effect.as(Effect.scoped(this.map(image, { access: "read", layout: "driver" })), view)
    })

  readonly write: Service["write"] = (target, data, options) =>
    this.#pending.write("Images.write", (operation) => {
      const part = this.#part(operation, target, ImageUsage.copyDst, options, "write")
      const bytes = valid(HostData.bytes(operation, data))
      const place = HostRows.place(operation, part, bytes.byteLength, options)
      if (part.bytes === 0) return undefined
      const write = () => {
        const packed = valid(HostRows.gathered(part, bytes, place))
        return distrustUnverified(this.#commands.writeUnsafe(part.image, part.region, packed), part.image)
      }
      return { bytes: part.bytes, write }
    })

  readonly read: Service["read"] = (
    source: ImageLike.ImageLike,
    first?: ElementType<ArrayBufferView> | ImageShape.RegionOptions,
    second?: ImageShape.RegionOptions
  ) => {
    const operation = "Images.read"
    const [type, options] = typeof first === "function" ? [first, second] : [undefined, first]
    const memory = Reading.read(operation, () => {
      const part = this.#part(operation, source, ImageUsage.copySrc, options, "read")
      const hint = "Leave the type out for an array that fits the format."
      if (type !== undefined) valid(WholeElements.problem(operation, part.bytes, "of the region", type, hint))
      return this.#reading(part)
    })
    return Effect.map(
      memory,
      (memory) => (type === undefined ? ImageArrays.overUnsafe(source.format, memory) : new type(memory)) as never
    )
  }

  readonly readInto: Service["readInto"] = (source, target, options) =>
    Reading.into("Images.readInto", {
      source: (operation) => this.#part(operation, source, ImageUsage.copySrc, options, "read"),
      target: (operation, part) => {
        const bytes = valid(HostData.bytes(operation, target, "target"))
        return { bytes, place: HostRows.place(operation, part, bytes.byteLength, options) }
      },
      begin: (part) => this.#reading(part),
      copy: (part, memory, to) => {
        const extent = HostRows.rectangle(part)
        RectangleRows.copyBytes(extent, memory, RectangleRows.packed(extent), to.bytes, to.place)
      }
    })

  readonly fill: Service["fill"] = (target, values, options) =>
    this.#pending.record("Images.fill", (operation) => {
      const part = this.#part(operation, target, ImageUsage.copyDst, options)
      const element = valid(ImageProblems.elementOf(operation, part.image.format, values))
      if (part.bytes === 0) return Exit.void
      return distrustUnverified(this.#driver.fillUnsafe(part.image, part.region, element), part.image)
    })

  readonly copy: Service["copy"] = (source, target, options) =>
    this.#pending.record("Images.copy", (operation) => {
      const from = this.#part(operation, source, ImageUsage.copySrc, {
        origin: options?.sourceOrigin,
        extent: options?.extent
      })
      const to = this.#part(operation, target, ImageUsage.copyDst, {
        origin: options?.targetOrigin,
        extent: from.region.extent
      })
      valid(ImageProblems.copyProblem(operation, from, to))
      if (from.bytes === 0) return Exit.void
      return distrustUnverified(
        this.#commands.copyUnsafe(from.image, to.image, to.region.origin, from.region),
        from.image,
        to.image
      )
    })

  readonly toBuffer: Service["toBuffer"] = (source, target, options) =>
    this.#pending.record("Images.toBuffer", (operation) => {
      const offset = options?.offset ?? 0
      const part = this.#part(operation, source, ImageUsage.copySrc, options)
      const to = this.#bufferMemory(operation, target, BufferUsage.copyDst, offset, part)
      if (to === undefined || part.bytes === 0) return Exit.void
      return distrustUnverified(this.#commands.toBufferUnsafe(part.image, part.region, to, offset), part.image, to)
    })

  readonly fromBuffer: Service["fromBuffer"] = (source, target, options) =>
    this.#pending.record("Images.fromBuffer", (operation) => {
      const offset = options?.offset ?? 0
      const part = this.#part(operation, target, ImageUsage.copyDst, options)
      const from = this.#bufferMemory(operation, source, BufferUsage.copySrc, offset, part)
      if (from === undefined || part.bytes === 0) return Exit.void
      return distrustUnverified(
        this.#commands.fromBufferUnsafe(from, offset, part.image, part.region),
        part.image,
        from
      )
    })

  readonly map: Service["map"] = (
    image: ImageLike.ImageLike,
    first?: ElementType<Elements> | MapOptions,
    second?: MapOptions
  ) => {
    // Any argument but an options object is taken for a class, and checked as one.
    const [type, options] = typeof first === "function" || second !== undefined ? [first, second] : [undefined, first]
    const operation = "Images.map"
    return ScopedMapping.acquire(
      operation,
      (mapping) => this.#beginMapping(operation, mapping, image, type as never, options as MapOptions | undefined)
    ) as never
  }

  readonly sampler: Service["sampler"] = (options) =>
    Effect.acquireRelease(
      validated("Images.sampler", (operation) => {
        valid(this.#device.status.error)
        return this.#driver.createSampler(valid(SamplerProblems.checked(operation, options)))
      }),
      (sampler) => logged(() => this.#allocator.destroySamplerUnsafe(sampler), "A sampler")
    )

  readonly formats: Service["formats"] = (usage, kind) =>
    validated("Images.formats", (operation) => {
      valid(this.#device.status.error)
      valid(ImageProblems.usageProblem(operation, usage))
      return Exit.succeed(this.#allocator.formats(usage, kind))
    })

  readonly largest: Service["largest"] = (kind) =>
    validated("Images.largest", () => {
      valid(this.#device.status.error)
      return Exit.succeed(this.#driver.largest(kind))
    })

  /**
   * An image that a command can use now, and the region of it that the options name; or the error. `host` is what the
   * program itself does with the elements by that command, if anything.
   */
  #part(
    operation: string,
    like: ImageLike.ImageLike,
    usage: ImageUsage.ImageUsage,
    options: ImageShape.RegionOptions | undefined,
    host?: BufferUsageRules.HostAccess
  ): ImageProblems.Part {
    const part = this.#partOf(operation, like, usage, options, host)
    valid(ImageAccess.mappedProblem(operation, part.image, usage === ImageUsage.copySrc))
    return part
  }

  /** The same, without the check for mappings. */
  #partOf(
    operation: string,
    like: ImageLike.ImageLike,
    usage: ImageUsage.ImageUsage,
    options: ImageShape.RegionOptions | undefined,
    host: BufferUsageRules.HostAccess | undefined
  ): ImageProblems.Part {
    valid(this.#device.status.error)
    valid(ImageLike.problem(operation, like, this.#device.info))
    valid(ImageUsageRules.lackProblem(operation, like.usage, usage))
    const image = ImageLike.deviceImage(like)
    valid(ImageAccess.hostProblem(operation, image, host))
    const region = ImageRegions.region(image.shape, options)
    if (typeof region === "string") {
      throw invalidRequest(operation, region, "Stay within the image, counting elements from 0.")
    }
    return { image, region, bytes: ImageShape.count(region) * ImageFormat.elementBytes(image.format) }
  }

  /** Checks, claims, maps and attaches in one step; then waits for the elements. */
  #beginMapping(
    operation: string,
    mapping: ScopedMapping,
    like: ImageLike.ImageLike,
    type: ElementType<ImageArray.ImageArray> | undefined,
    options: MapOptions | undefined
  ): Effect.Effect<MappedImage, GpuError> {
    const access = options?.access ?? "readwrite"
    const part = this.#partOf(operation, like, usageOf[access], options, access)
    const fitting = type ?? ImageArrays.classOf(part.image.format)
    const axes = valid(ImageAxes.resolve(operation, part.image, part.region, fitting, options ?? {}))
    // The program must not write the elements between those of the array.
    const needed = access === "write" && !axes.whole ? "readwrite" : access
    valid(ImageUsageRules.lackProblem(operation, like.usage, usageOf[needed]))
    valid(ImageAccess.hostProblem(operation, part.image, needed))
    const mapper = { ...this.#parts, commands: this.#commands }
    return ImageMapping.begin(operation, mapper, mapping, { ...part, owner: like, access: needed, type, axes })
  }

  /** The image, until the scope closes. */
  #scoped(created: Effect.Effect<DeviceImage, GpuError>): Effect.Effect<DeviceImage, GpuError, Scope.Scope> {
    return Effect.acquireRelease(created, (image) => logged(() => this.#allocator.destroyUnsafe(image), "An image"))
  }

  #reading({ bytes, image, region }: ImageProblems.Part): Reading.Begin | undefined {
    return bytes === 0 ? undefined : (answer) => this.#commands.readUnsafe(image, region, answer)
  }

  #bufferMemory(
    operation: string,
    buffer: BufferLike.BufferLike,
    usage: BufferUsage.BufferUsage,
    offset: number,
    part: ImageProblems.Part
  ): DeviceBuffer | undefined {
    const memory = BufferMemory.use(operation, buffer, this.#device, usage)
    if (memory !== undefined && overlaps(part.image.wholeMemory, memory.wholeMemory)) {
      throw ImageProblems.overOne(operation)
    }
    const elementBytes = ImageFormat.elementBytes(part.image.format)
    valid(
      BufferRange.problem(operation, buffer, offset, part.bytes, BufferRange.portableAlignment) ??
        (offset % elementBytes === 0 ? undefined : invalidRequest(
          operation,
          `offset ${offset} is no multiple of the ${elementBytes} bytes of an element`,
          "Use a multiple of an element's bytes."
        ))
    )
    return memory
  }
}

const descriptionOf = (
  shape: ImageShape.ImageShape,
  format: ImageFormat.ImageFormat,
  options: ImageOptions | undefined
): ImageDescription => {
  const { label, usage = ImageUsage.defaultUsage } = options ?? {}
  return { shape, format, usage, label }
}

const usageOf: Readonly<Record<MapAccess, ImageUsage.ImageUsage>> = {
  read: ImageUsage.copySrc,
  write: ImageUsage.copyDst,
  readwrite: ImageUsage.copySrc | ImageUsage.copyDst
}
