/**
 * Images on one device: memory that kernels read by coordinates, in formats that they convert from and to.
 *
 * Every rule is checked once for all backends, before a driver sees anything: the right device, live images, usage,
 * bounds, formats, overlaps, alignment. Commands run in queue order with those of `CommandQueue`; the next read or
 * `CommandQueue.finish` fails with the errors of recorded ones. Every operation takes a lease of an `ImagePool` as well
 * as an image of {@link make}, and a lease of a `BufferPool` wherever it takes a buffer.
 *
 * Data on the host is packed unless its pitches say otherwise: element after element, row after row, slice after slice.
 * A slice is the z of a volume and the layer of an array.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ElementType, ViewType } from "../../domain/data/ElementClass.ts"
import type * as HostData from "../../domain/data/HostData.ts"
import type { Order, ShapeOptions } from "../../domain/data/StridedShape.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { ImageArray } from "../../domain/images/ImageArray.ts"
import type { ChannelValues } from "../../domain/images/ImageElement.ts"
import type { ImageFormat } from "../../domain/images/ImageFormat.ts"
import type { ImageKind, ImageShape, RegionOptions } from "../../domain/images/ImageShape.ts"
import type { ImageUsage } from "../../domain/images/ImageUsage.ts"
import type { SamplerOptions } from "../../domain/images/SamplerOptions.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import type { Elements } from "../buffers/mapping/MappedArray.ts"
import { bufferFirst, methodsOf } from "../buffers/SubjectFirst.ts"
import type { HostMode } from "../device/DeviceContext.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import type { DeviceSampler } from "../device/DeviceSampler.ts"
import { DriverMemory } from "../device/DriverObject.ts"
import type { MapAccess } from "../device/QueueDriver.ts"
import { Lease } from "../lease/Lease.ts"
import type * as ImageLike from "./ImageLike.ts"
import type { MappedImage } from "./MappedImage.ts"

/**
 * The options of a new image.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageOptions {
  /** `ImageUsage.defaultUsage` (sampled, copySrc, copyDst) without it. */
  readonly usage?: ImageUsage | undefined
  /** Shows in errors. */
  readonly label?: string | undefined
}

/**
 * The options of an image made from an array.
 *
 * @category models
 * @since 0.1.0
 */
export interface FromArrayOptions extends ImageOptions {
  /** Items of the array per element: 1, 2 or 4; 1 without it. */
  readonly channels?: number | undefined
  /** Whether 8-bit and 16-bit integers stand for numbers from 0 or -1 to 1; `false` without it. */
  readonly normalized?: boolean | undefined
}

/**
 * The options of an image over a buffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface OverBufferOptions extends ImageOptions {
  /** Elements, from the buffer's first byte on; as many as the buffer has room for without it. */
  readonly width?: number | undefined
}

/**
 * How far apart rows and slices lie in data of the host, in bytes. Without them there are no gaps.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostLayout {
  /** From a row to the next, at least the bytes of a row. */
  readonly rowPitch?: number | undefined
  /** From a slice to the next, whole rows. */
  readonly slicePitch?: number | undefined
}

/**
 * How an image is made of the program's data, and how its rows lie there.
 *
 * @category models
 * @since 0.1.0
 */
export interface FromHostOptions extends ImageOptions, HostLayout {
  /**
   * `"copy"` without it: the data is copied once. `"use"` makes the data itself the image's memory, without a copy where the
   * device can reach it.
   */
  readonly mode?: HostMode | undefined
}

/**
 * The regions of two images between which `copy` copies. Missing numbers of an origin are 0 and those of the extent 1;
 * without an extent the region goes to the source's end.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopyOptions {
  readonly sourceOrigin?: RegionOptions["origin"]
  readonly targetOrigin?: RegionOptions["origin"]
  readonly extent?: RegionOptions["extent"]
}

/**
 * The region of an image that is copied to or from a buffer, and where it starts in the buffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface BufferOptions extends RegionOptions {
  /** In bytes, a multiple of 4 and of an element's bytes; 0 without it. */
  readonly offset?: number | undefined
}

/**
 * The region of an image to map, the access, and the axes of the array.
 *
 * @category models
 * @since 0.1.0
 */
export interface MapOptions extends RegionOptions, ShapeOptions {
  /**
   * What the program does: `"readwrite"` without it. With `"write"` the elements are not read first: the array begins
   * with unspecified numbers (zeros, or the old ones), and all of them are written back.
   */
  readonly access?: MapAccess | undefined
  /**
   * `"packed"` without it: row after row, without gaps, and copied where the driver's memory has gaps. `"driver"` is
   * the driver's memory with its own pitches: read them from the mapping's strides and pitches. It takes no `shape` and
   * no `strides`.
   */
  readonly layout?: "packed" | "driver" | undefined
  /**
   * Elements of the array along each axis, over all mapped items in one row. Without it the axes are slices, rows,
   * columns and the items of an element, as far as the image has them.
   */
  readonly shape?: ReadonlyArray<number> | undefined
  /** `"C"` without it. Without a shape, `"F"` reverses the axes: the indices of an element are x, y and the slice. */
  readonly order?: Order | undefined
}

/**
 * The service: images on one device. Each backend's layer provides it.
 *
 * **Example** (Looking the service up once for many commands)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const clearAll = Effect.fnUntraced(function*(all: ReadonlyArray<ImageLike.ImageLike>) {
 *   const images = yield* Images.Images
 *   for (const image of all) yield* images.fill(image, 0)
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class Images extends Context.Service<Images, {
  /** See {@link make}. */
  readonly make: (
    shape: ImageShape,
    format: ImageFormat,
    options?: ImageOptions
  ) => Effect.Effect<DeviceImage, GpuError, Scope.Scope>
  /** See {@link fromHost}. */
  readonly fromHost: (
    data: HostData.HostData,
    shape: ImageShape,
    format: ImageFormat,
    options?: FromHostOptions
  ) => Effect.Effect<DeviceImage, GpuError, Scope.Scope>
  /** See {@link hostArray}. */
  readonly hostArray: <A extends ArrayBufferView>(
    image: ImageLike.ImageLike,
    type: ViewType<A>
  ) => Effect.Effect<A, GpuError>
  /** See {@link overBuffer}. */
  readonly overBuffer: (
    buffer: BufferLike.BufferLike,
    format: ImageFormat,
    options?: OverBufferOptions
  ) => Effect.Effect<DeviceImage, GpuError, Scope.Scope>
  /** See {@link fromArray}. */
  readonly fromArray: (
    data: ImageArray,
    shape: ImageShape,
    options?: FromArrayOptions
  ) => Effect.Effect<DeviceImage, GpuError, Scope.Scope>
  /** See {@link write}. */
  readonly write: (
    target: ImageLike.ImageLike,
    data: HostData.HostData,
    options?: RegionOptions & HostLayout
  ) => Effect.Effect<void, GpuError>
  /** See {@link read}. */
  readonly read: {
    (source: ImageLike.ImageLike, options?: RegionOptions): Effect.Effect<ImageArray, GpuError>
    <A extends ArrayBufferView>(
      source: ImageLike.ImageLike,
      type: ElementType<A>,
      options?: RegionOptions
    ): Effect.Effect<A, GpuError>
  }
  /** See {@link readInto}. */
  readonly readInto: (
    source: ImageLike.ImageLike,
    target: HostData.HostData,
    options?: RegionOptions & HostLayout
  ) => Effect.Effect<void, GpuError>
  /** See {@link fill}. */
  readonly fill: (
    target: ImageLike.ImageLike,
    values: number | ChannelValues,
    options?: RegionOptions
  ) => Effect.Effect<void, GpuError>
  /** See {@link copy}. */
  readonly copy: (
    source: ImageLike.ImageLike,
    target: ImageLike.ImageLike,
    options?: CopyOptions
  ) => Effect.Effect<void, GpuError>
  /** See {@link toBuffer}. */
  readonly toBuffer: (
    source: ImageLike.ImageLike,
    target: BufferLike.BufferLike,
    options?: BufferOptions
  ) => Effect.Effect<void, GpuError>
  /** See {@link fromBuffer}. */
  readonly fromBuffer: (
    source: BufferLike.BufferLike,
    target: ImageLike.ImageLike,
    options?: BufferOptions
  ) => Effect.Effect<void, GpuError>
  /** See {@link map}. */
  readonly map: {
    (image: ImageLike.ImageLike, options?: MapOptions): Effect.Effect<MappedImage, GpuError, Scope.Scope>
    <A extends Elements>(
      image: ImageLike.ImageLike,
      type: ElementType<A>,
      options?: MapOptions
    ): Effect.Effect<MappedImage<A>, GpuError, Scope.Scope>
  }
  /** See {@link sampler}. */
  readonly sampler: (options?: SamplerOptions) => Effect.Effect<DeviceSampler, GpuError, Scope.Scope>
  /** See {@link formats}. */
  readonly formats: (usage: ImageUsage, kind: ImageKind) => Effect.Effect<ReadonlyArray<ImageFormat>, GpuError>
  /** See {@link largest}. */
  readonly largest: (kind: ImageKind) => Effect.Effect<Omit<ImageShape, "kind">, GpuError>
}>()("effect-gpu-pool/Images") {}

const method = methodsOf(Images)

/** As `ImageLike.isImageLike`, without loading the classes of images, which programs on buffers do not need. */
const isImage = (value: unknown): boolean =>
  (value instanceof Lease || value instanceof DriverMemory) && value.what === "image"

const imageFirst = (args: ArrayLike<unknown>): boolean => isImage(args[0])

/** A copy that leaves out its source has no second image. */
const bothImages = (args: ArrayLike<unknown>): boolean => isImage(args[1])

/**
 * An image without a pool, freed when the scope closes. Its elements are unspecified at first. Fails with OutOfMemory
 * where the device has no memory for it now, with LimitExceeded beyond {@link largest}, and with Unsupported for a
 * format that {@link formats} does not list.
 *
 * **Example** (A picture of one colour)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * Effect.gen(function*() {
 *   const image = yield* Images.make(ImageShape.image2d(2, 1), ImageFormat.rgba8)
 *   yield* Images.fill(image, [1, 0.5, 0, 1])
 *   return Array.from(yield* Images.read(image))
 * }) // => [255, 128, 0, 255, 255, 128, 0, 255]
 * ```
 *
 * @see pyopencl.Image
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  shape: ImageShape,
  format: ImageFormat,
  options?: ImageOptions
): Effect.Effect<DeviceImage, GpuError, Images | Scope.Scope> =>
  Images.use((images) => images.make(shape, format, options))

/**
 * An image without a pool that begins with the bytes of `data`, until the scope closes. The first contents need no
 * usage.
 *
 * **Details**
 *
 * With mode "use" (OpenCL and the host) the image keeps the data's ArrayBuffer for as long as it lives and until the
 * commands on it have ended. {@link hostArray} makes the writes of kernels visible in the data, and {@link map} makes
 * the program's writes visible to the device. At other times a device with memory of its own has another copy. The data
 * must have a fixed length and begin at a multiple of 8 bytes of its ArrayBuffer, and of an element's bytes. Its row
 * pitch is a multiple of an element, its slice pitch a multiple of a row, and the last row and slice must be complete.
 *
 * **Gotchas**
 *
 * Do not transfer data in use to a worker: the driver still has its address. Later commands are InvalidRequest, but
 * commands that were recorded before may read freed memory. Data that is copied must stay until the effect has
 * completed.
 *
 * Fails with InvalidRequest for data of another length, shared, detached or, in use, resizable, or pitches that do not
 * fit; with Unsupported for mode "use" on WebGPU, which has no memory but its own, with gaps on Oclgrind and with gaps
 * between slices on NVIDIA's OpenCL driver, which ignore them; and otherwise as {@link make}.
 *
 * **Example** (Letting kernels work on a picture of the program's)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * const pixels = new Uint8Array(8)
 * Effect.gen(function*() {
 *   const image = yield* Images.fromHost(pixels, ImageShape.image2d(2, 1), ImageFormat.rgba8, { mode: "use" })
 *   yield* Images.fill(image, [1, 0, 0, 1], { origin: [1] })
 *   const seen = yield* Images.hostArray(image, Uint8Array)
 *   return [seen.buffer === pixels.buffer, ...pixels]
 * }) // => [true, 0, 0, 0, 0, 255, 0, 0, 255]
 * ```
 *
 * @see pyopencl.Image, with COPY_HOST_PTR or USE_HOST_PTR
 * @category constructors
 * @since 0.1.0
 */
export const fromHost = (
  data: HostData.HostData,
  shape: ImageShape,
  format: ImageFormat,
  options?: FromHostOptions
): Effect.Effect<DeviceImage, GpuError, Images | Scope.Scope> =>
  Images.use((images) => images.fromHost(data, shape, format, options))

/**
 * The data of an image made by {@link fromHost} with mode "use". It waits for recorded commands and makes the device's
 * writes visible. It is a view of all the data, gaps included, not a copy.
 *
 * Fails with InvalidRequest for an image that was not made so, that is mapped to be written or lacks the usage
 * `copySrc`, or whose bytes are no whole number of elements; and as {@link map}.
 *
 * **Example** (The rows of a picture that kernels have written)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const row = (image: ImageLike.ImageLike, y: number) =>
 *   Effect.map(Images.hostArray(image, Float32Array), (all) => all.subarray(y * image.shape.width, (y + 1) * image.shape.width))
 * ```
 *
 * @see pyopencl.MemoryObject.get_host_array
 * @category accessors
 * @since 0.1.0
 */
export const hostArray: {
  /**
   * The data of an image made by {@link fromHost} with mode "use". It waits for recorded commands and makes the
   * device's writes visible. It is a view of all the data, gaps included, not a copy.
   */
  <A extends ArrayBufferView>(type: ViewType<A>): (image: ImageLike.ImageLike) => Effect.Effect<A, GpuError, Images>
  <A extends ArrayBufferView>(image: ImageLike.ImageLike, type: ViewType<A>): Effect.Effect<A, GpuError, Images>
} = method("hostArray", imageFirst)

/**
 * An image of the kind `1dBuffer` in the memory of a buffer, until the scope closes: a row of elements, often far
 * longer than that of a `1d` image. Each sees the other's writes, in queue order. Kernels declare the kind, and read
 * elements without a sampler.
 *
 * **Details**
 *
 * The image ends with the lease or buffer that it was made over, and is Released then. A mapping of the buffer counts
 * as one of the image, and the reverse. Copies between the two, and a dispatch that takes both and writes one, are
 * InvalidRequest, as within one buffer. Without a label it has the buffer's. What the buffer's usage forbids to the
 * program, as `hostReadOnly` does, is forbidden on the image too.
 *
 * Fails with InvalidRequest for a buffer without room for an element or the width, or whose usage does not allow the
 * image's (kernels need `storage`); LimitExceeded beyond {@link largest}; Unsupported on WebGPU, which has no such
 * textures, for a format that {@link formats} does not list, and for a sub-region or a lease of `PoolStrategy.arena` on PoCL; Released, ForeignDevice,
 * DeviceLost or DriverError.
 *
 * **Example** (Numbers that are written as bytes and read as colours)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { ImageFormat, Images } from "effect-gpu-pool/images"
 *
 * Effect.gen(function*() {
 *   const buffer = yield* BufferPool.allocate(8)
 *   const colors = yield* Images.overBuffer(buffer, ImageFormat.rgba8)
 *   yield* Images.fill(colors, [1, 0.5, 0, 1], { extent: [1] })
 *   yield* CommandQueue.fill(buffer, 0x04030201, { offset: 4 })
 *   return Array.from(yield* Images.read(colors))
 * }) // => [255, 128, 0, 255, 1, 2, 3, 4]
 * ```
 *
 * @see pyopencl.Image, with buffer
 * @category constructors
 * @since 0.1.0
 */
export const overBuffer: {
  /**
   * An image of the kind `1dBuffer` in the memory of a buffer, until the scope closes: a row of elements, often far
   * longer than that of a `1d` image. Each sees the other's writes, in queue order. Kernels declare the kind, and read
   * elements without a sampler.
   */
  (
    format: ImageFormat,
    options?: OverBufferOptions
  ): (buffer: BufferLike.BufferLike) => Effect.Effect<DeviceImage, GpuError, Images | Scope.Scope>
  (
    buffer: BufferLike.BufferLike,
    format: ImageFormat,
    options?: OverBufferOptions
  ): Effect.Effect<DeviceImage, GpuError, Images | Scope.Scope>
} = method("overBuffer", bufferFirst)

/**
 * An image with the items of an array, freed when the scope closes. The format follows from the class of the array,
 * from how many items an element has, and from whether integers are normalised.
 *
 * **Example** (Two elements of two normalised bytes)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * Images.fromArray(Uint8Array.of(1, 2, 3, 4), ImageShape.image1d(2), { channels: 2, normalized: true }).pipe(
 *   Effect.map((image) => ImageFormat.format(image.format))
 * ) // => "rg unorm8"
 * ```
 *
 * @see pyopencl.image_from_array
 * @category constructors
 * @since 0.1.0
 */
export const fromArray = (
  data: ImageArray,
  shape: ImageShape,
  options?: FromArrayOptions
): Effect.Effect<DeviceImage, GpuError, Images | Scope.Scope> =>
  Images.use((images) => images.fromArray(data, shape, options))

/**
 * Writes host data into an image or a region of it. The data is copied before the effect completes.
 *
 * **Example** (One column of a picture)
 *
 * ```ts
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const writeColumn = (image: ImageLike.ImageLike, x: number, column: Uint8Array<ArrayBuffer>) =>
 *   Images.write(image, column, { origin: [x], extent: [1, image.shape.height] })
 * ```
 *
 * @see pyopencl.enqueue_copy
 * @category accessors
 * @since 0.1.0
 */
export const write: {
  /** Writes host data into an image or a region of it. The data is copied before the effect completes. */
  (
    data: HostData.HostData,
    options?: RegionOptions & HostLayout
  ): (target: ImageLike.ImageLike) => Effect.Effect<void, GpuError, Images>
  (
    target: ImageLike.ImageLike,
    data: HostData.HostData,
    options?: RegionOptions & HostLayout
  ): Effect.Effect<void, GpuError, Images>
} = method("write", imageFirst)

/**
 * Reads an image or a region of it, after all commands before, into a new typed array: of the class that fits the
 * format, or of the class that the program names.
 *
 * **Example** (Reading the last of three elements)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images, ImageShape } from "effect-gpu-pool/images"
 *
 * Effect.gen(function*() {
 *   const image = yield* Images.fromArray(Float32Array.of(1, 2, 3), ImageShape.image1d(3))
 *   return yield* Images.read(image, Float32Array, { origin: [2] })
 * }) // => Float32Array.of(3)
 * ```
 *
 * @see pyopencl.enqueue_copy
 * @category accessors
 * @since 0.1.0
 */
export const read: {
  /**
   * Reads an image or a region of it, after all commands before, into a new typed array: of the class that fits the
   * format, or of the class that the program names.
   */
  (options?: RegionOptions): (source: ImageLike.ImageLike) => Effect.Effect<ImageArray, GpuError, Images>
  <A extends ArrayBufferView>(
    type: ElementType<A>,
    options?: RegionOptions
  ): (source: ImageLike.ImageLike) => Effect.Effect<A, GpuError, Images>
  (source: ImageLike.ImageLike, options?: RegionOptions): Effect.Effect<ImageArray, GpuError, Images>
  <A extends ArrayBufferView>(
    source: ImageLike.ImageLike,
    type: ElementType<A>,
    options?: RegionOptions
  ): Effect.Effect<A, GpuError, Images>
} = method("read", imageFirst)

/**
 * Reads an image or a region of it into host memory. Gaps between rows and slices of the target stay unchanged. The
 * target changes only at the end, in one step, so an interrupted read leaves it unchanged.
 *
 * **Example** (Into the middle of a larger picture)
 *
 * ```ts
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const atlas = new Uint8Array(4096 * 4096 * 4)
 * const place = (tile: ImageLike.ImageLike, x: number, y: number) =>
 *   Images.readInto(tile, atlas.subarray((y * 4096 + x) * 4), { rowPitch: 4096 * 4 })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const readInto: {
  /**
   * Reads an image or a region of it into host memory. Gaps between rows and slices of the target stay unchanged. The
   * target changes only at the end, in one step, so an interrupted read leaves it unchanged.
   */
  (
    target: HostData.HostData,
    options?: RegionOptions & HostLayout
  ): (source: ImageLike.ImageLike) => Effect.Effect<void, GpuError, Images>
  (
    source: ImageLike.ImageLike,
    target: HostData.HostData,
    options?: RegionOptions & HostLayout
  ): Effect.Effect<void, GpuError, Images>
} = method("readInto", imageFirst)

/**
 * Sets every element of an image or a region of it to the same numbers: one per channel, in the format's order, or
 * one for all. Normalised channels take 0 or -1 to 1, `srgb` ones linear numbers. A number is rounded to the nearest
 * that the channel can store.
 *
 * **Example** (Clearing the upper half)
 *
 * ```ts
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const clearUpper = (image: ImageLike.ImageLike) =>
 *   Images.fill(image, 0, { extent: [image.shape.width, Math.floor(image.shape.height / 2)] })
 * ```
 *
 * @see pyopencl.enqueue_fill_image
 * @category accessors
 * @since 0.1.0
 */
export const fill: {
  /**
   * Sets every element of an image or a region of it to the same numbers: one per channel, in the format's order, or
   * one for all. Normalised channels take 0 or -1 to 1, `srgb` ones linear numbers. A number is rounded to the nearest
   * that the channel can store.
   */
  (
    values: number | ChannelValues,
    options?: RegionOptions
  ): (target: ImageLike.ImageLike) => Effect.Effect<void, GpuError, Images>
  (
    target: ImageLike.ImageLike,
    values: number | ChannelValues,
    options?: RegionOptions
  ): Effect.Effect<void, GpuError, Images>
} = method("fill", imageFirst)

/**
 * Copies elements between two images of one format, or between two regions of one image that share no element. The
 * images may be of different kinds: a slice of a volume can be copied to a picture.
 *
 * **Example** (One layer of an array)
 *
 * ```ts
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const layer = (frames: ImageLike.ImageLike, index: number, picture: ImageLike.ImageLike) =>
 *   Images.copy(frames, picture, {
 *     sourceOrigin: [0, 0, index],
 *     extent: [frames.shape.width, frames.shape.height]
 *   })
 * ```
 *
 * @see pyopencl.enqueue_copy
 * @category accessors
 * @since 0.1.0
 */
export const copy: {
  /**
   * Copies elements between two images of one format, or between two regions of one image that share no element. The
   * images may be of different kinds: a slice of a volume can be copied to a picture.
   */
  (
    target: ImageLike.ImageLike,
    options?: CopyOptions
  ): (source: ImageLike.ImageLike) => Effect.Effect<void, GpuError, Images>
  (
    source: ImageLike.ImageLike,
    target: ImageLike.ImageLike,
    options?: CopyOptions
  ): Effect.Effect<void, GpuError, Images>
} = method("copy", bothImages)

/**
 * Copies an image or a region of it into a buffer, packed from `offset` bytes on.
 *
 * **Example** (Elements for a kernel that takes vectors)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { ImageFormat, type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const elements = Effect.fnUntraced(function*(image: ImageLike.ImageLike) {
 *   const buffer = yield* BufferPool.allocate(ImageFormat.imageBytes(image.format, image.shape))
 *   yield* Images.toBuffer(image, buffer)
 *   return buffer
 * })
 * ```
 *
 * @see pyopencl.enqueue_copy
 * @category accessors
 * @since 0.1.0
 */
export const toBuffer: {
  /** Copies an image or a region of it into a buffer, packed from `offset` bytes on. */
  (
    target: BufferLike.BufferLike,
    options?: BufferOptions
  ): (source: ImageLike.ImageLike) => Effect.Effect<void, GpuError, Images>
  (
    source: ImageLike.ImageLike,
    target: BufferLike.BufferLike,
    options?: BufferOptions
  ): Effect.Effect<void, GpuError, Images>
} = method("toBuffer", imageFirst)

/**
 * Copies packed elements of a buffer, from `offset` bytes on, into an image or a region of it.
 *
 * **Example** (What a kernel has computed, as a picture)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { BufferLike } from "effect-gpu-pool/backend"
 * import { ImageFormat, Images, ImageShape } from "effect-gpu-pool/images"
 *
 * const picture = Effect.fnUntraced(function*(pixels: BufferLike.BufferLike, width: number, height: number) {
 *   const image = yield* Images.make(ImageShape.image2d(width, height), ImageFormat.rgba8)
 *   yield* Images.fromBuffer(pixels, image)
 *   return image
 * })
 * ```
 *
 * @see pyopencl.enqueue_copy
 * @category accessors
 * @since 0.1.0
 */
export const fromBuffer: {
  /** Copies packed elements of a buffer, from `offset` bytes on, into an image or a region of it. */
  (
    target: ImageLike.ImageLike,
    options?: BufferOptions
  ): (source: BufferLike.BufferLike) => Effect.Effect<void, GpuError, Images>
  (
    source: BufferLike.BufferLike,
    target: ImageLike.ImageLike,
    options?: BufferOptions
  ): Effect.Effect<void, GpuError, Images>
} = method("fromBuffer", bufferFirst)

/**
 * An image or a region of it as a typed array, until the scope closes: of the class that the program names, or of
 * the one that fits the format. When the scope closes, also by an interruption, later commands see what the program
 * stored, and the array has length 0. Releasing the image ends the mapping earlier.
 *
 * **Details**
 *
 * On OpenCL the array is the driver's own mapping of the image, unless its rows have gaps and the layout is `"packed"`.
 * Elsewhere it is a private copy, read when it is mapped and written back when it ends. Do not store into an array that
 * was mapped for `"read"`: it may or may not reach the image.
 *
 * While an image is mapped, commands cannot use it; while it is mapped for `"read"`, they can read and copy from it.
 * The same elements cannot be mapped twice where one of the two mappings may write.
 *
 * Fails with Released, ForeignDevice, DeviceLost, OutOfMemory; with InvalidRequest for elements that are mapped
 * already, bounds, a class or axes that do not fit, or a missing usage: `copySrc` to read, `copyDst` to write; with
 * DriverError, also for the failures of recorded work.
 *
 * **Example** (Setting one element)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images, ImageShape } from "effect-gpu-pool/images"
 *
 * Effect.gen(function*() {
 *   const image = yield* Images.fromArray(Int32Array.of(1, 2, 3, 4), ImageShape.image2d(2, 2))
 *   yield* Effect.scoped(Effect.map(Images.map(image, Int32Array), (rows) => rows.setUnsafe(-1, 1, 0)))
 *   return Array.from(yield* Images.read(image))
 * }) // => [1, 2, -1, 4]
 * ```
 *
 * **Example** (Elements by x and y, in memory as the driver has it)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images, ImageShape } from "effect-gpu-pool/images"
 *
 * Effect.gen(function*() {
 *   const image = yield* Images.fromArray(Float32Array.of(1, 2, 3, 4, 5, 6), ImageShape.image2d(3, 2))
 *   const mapped = yield* Images.map(image, Float32Array, { access: "read", layout: "driver", order: "F" })
 *   return [mapped.shape, mapped.getUnsafe(2, 1)]
 * }) // => [[3, 2], 6]
 * ```
 *
 * @see pyopencl.enqueue_map_image
 * @category accessors
 * @since 0.1.0
 */
export const map: {
  /**
   * An image or a region of it as a typed array, until the scope closes: of the class that the program names, or of
   * the one that fits the format. When the scope closes, also by an interruption, later commands see what the program
   * stored, and the array has length 0. Releasing the image ends the mapping earlier.
   */
  (options?: MapOptions): (image: ImageLike.ImageLike) => Effect.Effect<MappedImage, GpuError, Images | Scope.Scope>
  <A extends Elements>(
    type: ElementType<A>,
    options?: MapOptions
  ): (image: ImageLike.ImageLike) => Effect.Effect<MappedImage<A>, GpuError, Images | Scope.Scope>
  (
    image: ImageLike.ImageLike,
    options?: MapOptions
  ): Effect.Effect<MappedImage, GpuError, Images | Scope.Scope>
  <A extends Elements>(
    image: ImageLike.ImageLike,
    type: ElementType<A>,
    options?: MapOptions
  ): Effect.Effect<MappedImage<A>, GpuError, Images | Scope.Scope>
} = method("map", imageFirst)

/**
 * A sampler, released when the scope closes. Options that the device does not have are Unsupported.
 *
 * **Example** (Smooth, and repeated beyond the edges)
 *
 * ```ts
 * import { Images } from "effect-gpu-pool/images"
 *
 * const tiles = Images.sampler({ addressing: "repeat", filter: "linear" })
 * ```
 *
 * @see pyopencl.Sampler
 * @category constructors
 * @since 0.1.0
 */
export const sampler = (
  options?: SamplerOptions
): Effect.Effect<DeviceSampler, GpuError, Images | Scope.Scope> => Images.use((images) => images.sampler(options))

/**
 * The formats that an image of that usage and kind can have on this device; none where there are no such images.
 *
 * **Example** (Whether kernels can write bytes from 0 to 1)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, Images, ImageUsage } from "effect-gpu-pool/images"
 *
 * Images.formats(ImageUsage.storage, "2d").pipe(
 *   Effect.map((formats) => formats.some((format) => ImageFormat.equals(format, ImageFormat.rgba8)))
 * ) // => true
 * ```
 *
 * @see pyopencl.get_supported_image_formats
 * @category getters
 * @since 0.1.0
 */
export const formats = (
  usage: ImageUsage,
  kind: ImageKind
): Effect.Effect<ReadonlyArray<ImageFormat>, GpuError, Images> => Images.use((images) => images.formats(usage, kind))

/**
 * The largest dimensions that an image of a kind can have on this device, in elements; the device's memory may be too
 * small for them.
 *
 * **Example** (Fitting a picture)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images } from "effect-gpu-pool/images"
 *
 * const fits = (width: number, height: number) =>
 *   Effect.map(Images.largest("2d"), (largest) => width <= largest.width && height <= largest.height)
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const largest = (kind: ImageKind): Effect.Effect<Omit<ImageShape, "kind">, GpuError, Images> =>
  Images.use((images) => images.largest(kind))
