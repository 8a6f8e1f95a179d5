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
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
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
import type { ImageOptions } from "./Images.ts"

/** The formats that each driver supports, by usage and kind, so that a driver is asked once. */
const answers = new WeakMap<ImageDriver["Service"], Map<string, ReadonlyArray<ImageFormat.ImageFormat>>>()

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
  problem(
    operation: string,
    shape: ImageShape.ImageShape,
    format: ImageFormat.ImageFormat,
    usage: ImageUsage.ImageUsage
  ): GpuError | undefined {
    const wrong = ImageProblems.shapeProblem(operation, shape)
    return this.device.status.error ?? wrong ?? ImageProblems.formatProblem(operation, format) ??
      ImageProblems.usageProblem(operation, usage) ?? this.deviceProblem(operation, shape, format, usage)
  }

  /** Why this device has no such image, or `undefined`, for a valid kind, format and usage. */
  deviceProblem(
    operation: string,
    shape: ImageShape.ImageShape,
    format: ImageFormat.ImageFormat,
    usage: ImageUsage.ImageUsage
  ): GpuError | undefined {
    const formats = this.formats(usage, shape.kind)
    if (!formats.some((supported) => ImageFormat.equals(supported, format))) {
      return this.#unsupported(operation, shape, format, usage, formats.length > 0)
    }
    return ImageProblems.limitProblem(operation, shape, this.driver.largest(shape.kind), this.device.info)
  }

  /** Checks the request and creates the image, uninterruptibly: the caller must call `destroyUnsafe` on it. */
  create(
    operation: string,
    shape: ImageShape.ImageShape,
    format: ImageFormat.ImageFormat,
    options: ImageOptions | undefined
  ): Effect.Effect<DeviceImage, GpuError> {
    return Effect.uninterruptible(validated(operation, () => {
      const { label, usage = ImageUsage.defaultUsage } = options ?? {}
      return this.problem(operation, shape, format, usage) ??
        Label.problem(operation, label) ??
        this.driver.create(operation, plain({ shape, format, usage, label }))
    }))
  }

  /** Destroys an image when called: its mappings are written back and recorded commands on it are submitted first. */
  destroyUnsafe(image: DeviceImage, why: Released["why"] = "released"): Exit.Exit<void, GpuError> {
    const ended = Attachments.endAll(image, why)
    const destroyed = this.#afterRecorded(() => this.driver.destroyUnsafe(image))
    return Exit.isFailure(ended) ? ended : destroyed
  }

  /** Destroys a sampler when called: recorded commands with it are submitted first. */
  destroySamplerUnsafe(sampler: DeviceSampler): Exit.Exit<void, GpuError> {
    return this.#afterRecorded(() => this.driver.destroySamplerUnsafe(sampler))
  }

  /** The formats that an image of that usage and kind can have. */
  formats(usage: ImageUsage.ImageUsage, kind: ImageShape.ImageKind): ReadonlyArray<ImageFormat.ImageFormat> {
    const key = `${usage} ${kind}`
    const formats = this.#formats.get(key) ?? this.driver.formats(usage, kind)
    this.#formats.set(key, formats)
    return formats
  }

  #afterRecorded(destroy: () => Exit.Exit<void, GpuError>): Exit.Exit<void, GpuError> {
    return inOrderUnsafe(this.device.status, this.#queue, destroy)
  }

  #unsupported(
    operation: string,
    shape: ImageShape.ImageShape,
    format: ImageFormat.ImageFormat,
    usage: ImageUsage.ImageUsage,
    others: boolean
  ): GpuError {
    return unsupported(
      operation,
      formatDevice(this.device.info),
      `a ${shape.kind} image of ${ImageFormat.format(format)} for ${ImageUsageRules.format(usage)}`,
      this.driver.missing?.(format, usage, shape.kind) ?? (others
        ? "Take one of the formats that Images.formats lists for that usage and kind, or ask for less usage."
        : "There are no such images at all: ask for another kind or less usage, or keep the elements in a buffer.")
    )
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
