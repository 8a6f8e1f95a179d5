/**
 * Images of one device without a scope: checked before the driver makes them, and destroyed in queue order. `Images`
 * and image pools use it, and so does a backend that adopts images of other code.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Label from "../../domain/arguments/Label.ts"
import { format as formatDevice } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, type Released, unsupported } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type * as ImageShape from "../../domain/images/ImageShape.ts"
import type * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import { validated } from "../calls/Validated.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import type { DeviceImage, ImageDescription } from "../device/DeviceImage.ts"
import type { DeviceSampler } from "../device/DeviceSampler.ts"
import { ImageDriver } from "../device/ImageDriver.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import { inOrderUnsafe } from "../device/ReleaseInOrder.ts"
import * as Attachments from "../lease/Attachments.ts"
import * as ImageProblems from "./ImageProblems.ts"

/** The formats that each driver supports, by usage and kind, so that a driver is asked once. */
const answers = new WeakMap<ImageDriver["Service"], Map<string, ReadonlyArray<ImageFormat.ImageFormat>>>()

/** What decides whether a device can have an image. */
export type WantedImage = Omit<ImageDescription, "label">

/** The services of one device that the allocator uses. */
export interface Parts {
  readonly device: DeviceContext["Service"]
  readonly queue: QueueDriver["Service"]
  readonly driver: ImageDriver["Service"]
}

export class ImageAllocator {
  readonly device: DeviceContext["Service"]
  readonly #queue: QueueDriver["Service"]
  readonly driver: ImageDriver["Service"]
  readonly #formats: Map<string, ReadonlyArray<ImageFormat.ImageFormat>>

  constructor({ device, driver, queue }: Parts) {
    this.device = device
    this.#queue = queue
    this.driver = driver
    this.#formats = answers.get(driver) ?? new Map()
    answers.set(driver, this.#formats)
  }

  /**
   * What is wrong with a new image of that shape, format and usage, or `undefined`: InvalidRequest, Unsupported,
   * LimitExceeded or DeviceLost. Pools ask before they look for memory.
   */
  problem(operation: string, wanted: WantedImage): GpuError | undefined {
    const { format, shape, usage } = wanted
    return this.device.status.error ?? ImageProblems.shapeProblem(operation, shape) ??
      ImageProblems.formatProblem(operation, format) ?? ImageProblems.usageProblem(operation, usage) ??
      this.deviceProblem(operation, wanted)
  }

  /** Why this device has no such image, or `undefined`, for a valid kind, format and usage. */
  deviceProblem(operation: string, { format, shape, usage }: WantedImage): GpuError | undefined {
    const { info } = this.device
    const formats = this.formats(usage, shape.kind)
    if (formats.some((supported) => ImageFormat.equals(supported, format))) {
      return ImageProblems.limitProblem(operation, shape, this.driver.largest(shape.kind), info)
    }
    return unsupported(
      operation,
      formatDevice(info),
      `a ${shape.kind} image of ${ImageFormat.format(format)} for ${ImageUsageRules.format(usage)}`,
      this.driver.missing?.(format, usage, shape.kind) ?? (formats.length > 0
        ? "Take one of the formats that Images.formats lists for that usage and kind, or ask for less usage."
        : "There are no such images at all: ask for another kind or less usage, or keep the elements in a buffer.")
    )
  }

  /** Checks the request and creates the image, uninterruptibly: the caller must call `destroyUnsafe` on it. */
  create(operation: string, image: ImageDescription): Effect.Effect<DeviceImage, GpuError> {
    return Effect.uninterruptible(
      validated(operation, () =>
        this.problem(operation, image) ?? Label.problem(operation, image.label) ??
          this.driver.create(operation, plain(image)))
    )
  }

  /** Destroys an image when called: its mappings are written back and recorded commands on it are submitted first. */
  destroyUnsafe(image: DeviceImage, why: Released["why"] = "released"): Exit.Exit<void, GpuError> {
    const ended = Attachments.endAll(image, why)
    const destroyed = inOrderUnsafe(this.device.status, this.#queue, () => this.driver.destroyUnsafe(image))
    return Exit.isFailure(ended) ? ended : destroyed
  }

  /** Destroys a sampler when called: recorded commands with it are submitted first. */
  destroySamplerUnsafe(sampler: DeviceSampler): Exit.Exit<void, GpuError> {
    return inOrderUnsafe(this.device.status, this.#queue, () => this.driver.destroySamplerUnsafe(sampler))
  }

  /** The formats that an image of that usage and kind can have. */
  formats(usage: ImageUsage.ImageUsage, kind: ImageShape.ImageKind): ReadonlyArray<ImageFormat.ImageFormat> {
    const key = `${usage} ${kind}`
    const formats = this.#formats.get(key) ?? this.driver.formats(usage, kind)
    this.#formats.set(key, formats)
    return formats
  }
}

/** The allocator of the device in context. */
export const ofDevice: Effect.Effect<ImageAllocator, never, DeviceContext | QueueDriver | ImageDriver> = Effect.gen(
  function*() {
    return new ImageAllocator({ device: yield* DeviceContext, queue: yield* QueueDriver, driver: yield* ImageDriver })
  }
)

/** Shape and format with their own fields alone: drivers compare and keep them. */
export const plain = ({ format, label, shape, usage }: ImageDescription): ImageDescription => {
  const { depth, height, kind, layers, width } = shape
  return {
    shape: { kind, width, height, depth, layers },
    format: { order: format.order, type: format.type },
    usage,
    label
  }
}
