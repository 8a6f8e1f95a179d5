/**
 * What an image pool does with requests: checks them, answers a hit in one step, and sends the others the long way.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { functionProblem, optionsProblem, readValues } from "../../../domain/ArgumentProblem.ts"
import { type GpuError, isGpuError } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import * as KnownOptions from "../../../domain/KnownOptions.ts"
import * as Label from "../../../domain/Label.ts"
import { together } from "../../leasing/LeasePool.ts"
import type { ImageOptions } from "../Images.ts"
import type { PooledImage } from "../PooledImage.ts"
import type { ImageList } from "./ImageList.ts"
import type { ImageMemory } from "./ImageMemory.ts"
import { climb } from "./ImageMiss.ts"
import { type ImageRequest, keyOf, operation, unavailable } from "./ImageRequest.ts"

/** What images have in common that stand for each other, and what they take: asked for before, and found to be good. */
interface Known {
  readonly shape: ImageShape
  readonly format: ImageFormat.ImageFormat
  /** Of the images themselves. */
  readonly usage: ImageUsage.ImageUsage
  readonly key: string
  /** In bytes. */
  readonly size: number
}

/** By the fields: a program may pass other objects each time, change the ones that it passes, or pass no objects. */
const isSame = (known: Known, shape: ImageShape, format: ImageFormat.ImageFormat): boolean => {
  const { depth, height, kind, layers, width } = shape ?? {}
  const { order, type } = format ?? {}
  return known.shape.width === width && known.shape.height === height && known.shape.depth === depth &&
    known.shape.layers === layers && known.shape.kind === kind && known.format.order === order &&
    known.format.type === type
}

/** A program has few kinds of images, and asks for each again and again. */
const knownOfImage = KnownOptions.of<ImageOptions>({ usage: true, label: true })

const mostKnown = 1024

/** @internal */
export class ImageRequests {
  readonly memory: ImageMemory
  /** Images that the device can make, by their keys. */
  readonly #known = new Map<string, Known>()
  /** The one that was asked for last: mostly it is asked for again, and its key need not be written anew. */
  #recent: Known | undefined = undefined

  constructor(memory: ImageMemory) {
    this.memory = memory
  }

  allocate(
    shape: ImageShape,
    format: ImageFormat.ImageFormat,
    options: ImageOptions | undefined
  ): Effect.Effect<PooledImage, GpuError, Scope.Scope> {
    const acquire = (list: ImageList): Effect.Effect<PooledImage, GpuError> => {
      const request = readValues(operation, () => this.#request(shape, format, options, list))
      return isGpuError(request) ? request : this.memory.search(request) ?? this.#miss(request)
    }
    return Effect.withFiber((fiber) =>
      this.memory.leases.withList(Context.getUnsafe(fiber.context, Scope.Scope), acquire)
    )
  }

  use<A, E, R>(
    shape: ImageShape,
    format: ImageFormat.ImageFormat,
    f: (image: PooledImage) => Effect.Effect<A, E, R>,
    options: ImageOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.suspend(() => {
      const request = functionProblem("ImagePool.use", "f", f) ??
        readValues(operation, () => this.#request(shape, format, options, this.memory.leases.loans))
      if (isGpuError(request)) return request
      // The image is taken inside, when the finalizer is on the fiber's stack already: no interruption can lose it.
      return Effect.onExitPrimitive(
        Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
          const found = this.memory.search(request)
          return request.granted === undefined
            ? Effect.flatMap(found ?? climb(this.memory, request), f)
            : f(request.granted)
        }),
        (exit) => together(this.#endLoan(request.granted), this.memory.letGo(request, exit))
      )
    })
  }

  #miss(request: ImageRequest): Effect.Effect<PooledImage, GpuError> {
    return Effect.onExitPrimitive(
      Effect.suspend(() => climb(this.memory, request)),
      (exit) => this.memory.letGo(request, exit)
    )
  }

  /** Unless it was transferred meanwhile. */
  #endLoan(lease: PooledImage | undefined): Effect.Effect<void> | undefined {
    return lease === undefined || lease.list !== this.memory.leases.loans
      ? undefined
      : this.memory.leases.endUnsafe(lease, "scopeClosed")
  }

  /** What was asked for before has been checked before, and only the pool and its device may have changed. */
  #request(
    shape: ImageShape,
    format: ImageFormat.ImageFormat,
    options: ImageOptions | undefined,
    list: ImageList
  ): ImageRequest | GpuError {
    const { core, device, leases, settings } = this.memory
    const usage = options?.usage ?? ImageUsage.defaultUsage
    const label = options?.label ?? settings.label
    const mislabelled = optionsProblem(operation, options, knownOfImage) ?? Label.problem(operation, label)
    if (mislabelled !== undefined) return mislabelled
    const blockUsage = this.memory.blockUsage(usage)
    const known = this.#lookUp(shape, format, blockUsage)
    if (isGpuError(known)) return known
    const { key, size } = known
    if (leases.closed) return unavailable({ label, size }, "poolClosed")
    if (list.closed) return unavailable({ label, size }, "scopeClosed")
    const problem = device.status.error ?? (size <= core.maxBytes ? undefined : this.memory.limitProblem(size))
    return problem ??
      {
        shape: known.shape,
        format: known.format,
        usage,
        blockUsage,
        label,
        size,
        key,
        list,
        reserved: 0,
        granted: undefined
      }
  }

  #lookUp(shape: ImageShape, format: ImageFormat.ImageFormat, usage: ImageUsage.ImageUsage): Known | GpuError {
    const recent = this.#recent
    if (recent?.usage === usage && isSame(recent, shape, format)) return recent
    const key = keyOf(shape, format, usage)
    const known = this.#known.get(key) ?? this.#check(key, shape, format, usage)
    if (!isGpuError(known)) this.#recent = known
    return known
  }

  #check(
    key: string,
    shape: ImageShape,
    format: ImageFormat.ImageFormat,
    usage: ImageUsage.ImageUsage
  ): Known | GpuError {
    const problem = this.memory.images.problem(operation, shape, format, usage)
    if (problem !== undefined) return problem
    const size = ImageFormat.imageBytes(format, shape)
    const tooLarge = this.memory.limitProblem(size)
    if (tooLarge !== undefined) return tooLarge
    const known: Known = { shape: { ...shape }, format: { ...format }, usage, key, size }
    if (this.#known.size >= mostKnown) this.#known.clear()
    this.#known.set(key, known)
    return known
  }
}
