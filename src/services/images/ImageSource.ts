/**
 * The pool's source of images: an image can stand for another only if kind, size, format and usage are the same.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Label from "../../domain/arguments/Label.ts"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { isGpuError } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import { type Family, unavailable } from "../../domain/pool/machine/Request.ts"
import type { DeviceImage, ImageDescription } from "../device/DeviceImage.ts"
import type { Block } from "../lease/Lease.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import type { ImageAllocator, WantedImage } from "./ImageAllocator.ts"
import * as ImageProblems from "./ImageProblems.ts"
import { PooledImage } from "./PooledImage.ts"

/** A checked request for an image, kept for the next request of the same image. */
export interface KnownImage extends WantedImage {
  /** The requested usage, with the flags that the pool itself needs. */
  readonly blockUsage: ImageUsage.ImageUsage
  /** Images of one key can stand for each other. */
  readonly key: string
  /** Bytes of the elements. */
  readonly size: number
}

/** Compares the fields: a program may pass a new object each time, or change the one that it passed before. */
const isSame = (known: WantedImage, { format, shape, usage }: WantedImage): boolean => {
  const { depth, height, kind, layers, width } = known.shape
  return known.usage === usage && shape.width === width && shape.height === height && shape.depth === depth &&
    shape.layers === layers && shape.kind === kind && ImageFormat.equals(known.format, format)
}

const keyOf = ({ format: { order, type }, shape, usage }: WantedImage): string => {
  const { depth, height, kind, layers, width } = shape
  return `${order} ${type} ${kind} ${width} ${height} ${depth} ${layers} ${usage}`
}

/** Programs use few kinds of images, and request each of them many times. */
const mostKnown = 1024

const operation = "ImagePool.allocate"

export class ImageSource implements PoolSource<KnownImage, DeviceImage, PooledImage> {
  readonly service = "ImagePool"
  readonly what = "image"
  closed = false
  readonly over = Deferred.makeUnsafe<void>()
  index = 0
  readonly inFlight = new Set<Fiber.Fiber<DeviceImage, GpuError>>()
  readonly largest: number
  readonly borrows = false
  readonly clears: boolean
  readonly reclaim: Effect.Effect<void, GpuError>
  readonly #images: ImageAllocator
  /** By the key of the request. */
  readonly #known = new Map<string, KnownImage>()
  /** The last request. The next one is mostly the same, so its key need not be built again. */
  #recent: KnownImage | undefined = undefined

  constructor(images: ImageAllocator, reclaim: Effect.Effect<void, GpuError>, clears: boolean) {
    this.#images = images
    this.reclaim = reclaim
    this.clears = clears
    this.largest = images.device.info.limits.memoryBytes ?? Infinity
  }

  blockSize(size: number): number {
    return size
  }

  exactSize(size: number): number {
    return size
  }

  partSize(): number {
    return Infinity
  }

  mostBorrowed(blockSize: number): number {
    return blockSize
  }

  limitTo(): void {
    // The size of an image does not depend on the limit.
  }

  family({ key }: KnownImage): string {
    return key
  }

  owns(family: Family): boolean {
    return typeof family === "string" && family.startsWith(`${this.index} `)
  }

  isUsual(): boolean {
    return true
  }

  problem(where: string, _size: number, _wanted: KnownImage, label: string | undefined): GpuError | undefined {
    return Label.problem(where, label)
  }

  limitProblem(where: string, bytes: number): GpuError | undefined {
    return BufferRequest.deviceLimitProblem(where, bytes, this.#images.device.info.limits, "memoryBytes")
  }

  create(
    { blockUsage: usage, format, shape }: KnownImage,
    _capacity: number,
    label: string | undefined
  ): Effect.Effect<DeviceImage, GpuError> {
    return this.#images.create(operation, { shape, format, usage, label })
  }

  destroyUnsafe(image: DeviceImage): Exit.Exit<void, GpuError> {
    return this.#images.destroyUnsafe(image)
  }

  clearUnsafe(image: DeviceImage): Exit.Exit<void, GpuError> {
    const element = new Uint8Array(ImageFormat.elementBytes(image.format))
    return this.#images.driver.fillUnsafe(image, ImageShape.whole(image.shape), element)
  }

  /** An image has bytes, so there is always a block. */
  lease(
    block: Block<DeviceImage> | undefined,
    _size: number,
    { usage }: KnownImage,
    label: string | undefined,
    sequence: number
  ): PooledImage {
    return new PooledImage(block!, usage, label, sequence)
  }

  /**
   * Checks a request, or finds it among those checked before. Fails with InvalidRequest, Unsupported or LimitExceeded.
   */
  lookUp(wanted: ImageDescription): KnownImage | GpuError {
    const recent = this.#recent
    if (recent !== undefined && isSame(recent, wanted)) return recent
    const asked = keyOf(wanted)
    const known = this.#known.get(asked) ?? this.#check(asked, wanted)
    if (!isGpuError(known)) this.#recent = known
    return known
  }

  #check(asked: string, wanted: ImageDescription): KnownImage | GpuError {
    const { format, shape, usage } = wanted
    // A pool that clears its images fills them itself. An invalid usage stays as it is, and fails its check.
    const blockUsage = this.clears && ImageUsageRules.problem(usage) === undefined ? usage | ImageUsage.copyDst : usage
    const ofBlock = { shape, format, usage: blockUsage }
    const problem = this.#images.problem(operation, ofBlock)
    if (problem !== undefined) return this.#closedProblem(problem, wanted)
    const size = ImageFormat.imageBytes(format, shape)
    const key = `${this.index} ${keyOf(ofBlock)}`
    const known: KnownImage = { shape: { ...shape }, format: { ...format }, usage, blockUsage, key, size }
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#known.set(asked, known)
    return known
  }
  /** A closed pool fails with Released, also where its device is lost. */
  #closedProblem(problem: GpuError, { format, label, shape }: ImageDescription): GpuError {
    if (!this.closed || problem.reason._tag !== "DeviceLost") return problem
    return ImageProblems.shapeProblem(operation, shape) ?? ImageProblems.formatProblem(operation, format) ??
      unavailable({ source: this, operation, size: ImageFormat.imageBytes(format, shape), label }, "poolClosed")
  }
}
