/**
 * The lease on an image: what a program holds of a pooled image.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Hash from "effect/Hash"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import { isInstance } from "../../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest, make as makeError, Released } from "../../domain/GpuError.ts"
import type { ImageFormat } from "../../domain/images/ImageFormat.ts"
import * as Format from "../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../domain/images/ImageShape.ts"
import * as Shape from "../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import type { PoolBlock } from "../../domain/PoolCore.ts"
import { inOneLine, showing, state } from "../../domain/Showing.ts"
import { checkedStep } from "../CheckedStep.ts"
import { wrongArgument } from "../WrongArgument.ts"
import type { DeviceImage } from "./DeviceImage.ts"
import type { ImageList } from "./pooling/ImageList.ts"

/**
 * A lease on an image of an `ImagePool`. It is valid until its scope closes, {@link release} is called or its pool
 * closes; each acquire makes a new one, so using it afterwards is a Released error and never another owner's
 * image. Every operation of `Images` takes it. A lease equals itself alone.
 *
 * **Example** (Shape and bytes)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool"
 * import type { PooledImage } from "effect-gpu-pool"
 *
 * const describe = (image: PooledImage.PooledImage) => `${image.shape.width} x ${image.shape.height}, ${image.size} bytes`
 * const shape = ImageShape.image2d(64, 64)
 * const text = ImagePool.use(shape, ImageFormat.rgba8, (image) => Effect.succeed(describe(image)))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class PooledImage implements Equal.Equal {
  readonly shape: ImageShape
  readonly format: ImageFormat
  /** What was asked for; a pool that clears adds `copyDst` to its images. */
  readonly usage: ImageUsage.ImageUsage
  /** Bytes of the elements, packed; the driver may take more. */
  readonly size: number
  readonly label: string | undefined

  /** The block while the lease is live. @internal */
  block: PoolBlock<DeviceImage, string> | undefined
  /** Why the lease ended, `undefined` while it is live. @internal */
  ended: Released["why"] | undefined = undefined
  /** The list that owns the lease while it is live. @internal */
  list: ImageList | undefined = undefined
  /** Which lease of the pool this is, in order of granting. @internal */
  readonly sequence: number

  /** @internal */
  constructor(
    block: PoolBlock<DeviceImage, string>,
    usage: ImageUsage.ImageUsage,
    label: string | undefined,
    sequence: number
  ) {
    this.block = block
    this.shape = block.value.shape
    this.format = block.value.format
    this.usage = usage
    this.size = block.capacity
    this.label = label
    this.sequence = sequence
  }

  [Equal.symbol](that: Equal.Equal): boolean {
    return this === that
  }

  [Hash.symbol](): number {
    return Hash.random(this)
  }
}

showing<PooledImage>(({ ended, format, label, list, shape, size, usage }) =>
  inOneLine("PooledImage", label, [
    `${Shape.format(shape)} of ${Format.format(format)}`,
    `${size} B`,
    ImageUsage.format(usage),
    state(ended, list?.pool.info)
  ])
)(PooledImage.prototype)

/**
 * The error of using a lease that has ended.
 *
 * @internal
 */
export const releasedError = (operation: string, { ended, label, size }: PooledImage): GpuError =>
  makeError(new Released({ operation, label, size, why: ended ?? "released", what: "image" }))

/**
 * Whether the lease can still be used.
 *
 * **Example** (Looking at a lease before it is used again)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images, PooledImage } from "effect-gpu-pool"
 *
 * const readIfLive = (image: PooledImage.PooledImage) =>
 *   PooledImage.isLive(image) ? Images.read(image) : Effect.succeed(undefined)
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const isLive = (lease: PooledImage): boolean => isInstance(lease, PooledImage) && lease.list !== undefined

/**
 * Gives the image back before the scope closes; nothing of it stays behind in the scope. A second call fails with
 * Released.
 *
 * **Example** (Returning an image early in a long-lived scope)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape, PooledImage } from "effect-gpu-pool"
 *
 * const shape = ImageShape.image2d(64, 64)
 * const step = Effect.gen(function*() {
 *   const scratch = yield* ImagePool.allocate(shape, ImageFormat.make("r", "float32"))
 *   yield* PooledImage.release(scratch)
 * })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const release = (lease: PooledImage): Effect.Effect<void, GpuError> =>
  checkedStep("PooledImage.release", (operation) => {
    if (!(lease instanceof PooledImage)) return noLease(operation, lease)
    return lease.list === undefined
      ? releasedError(operation, lease)
      : lease.list.pool.endUnsafe(lease, "released") ?? Exit.void
  })

/**
 * Moves the lease to another scope, whose close then gives the image back. Into a closed scope the lease is released
 * and the answer is Released.
 *
 * **Example** (Keeping a result beyond the scope of its work)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { ImageFormat, ImagePool, ImageShape, PooledImage } from "effect-gpu-pool"
 *
 * const shape = ImageShape.image2d(64, 64)
 * const result = Effect.gen(function*() {
 *   const outer = yield* Effect.scope
 *   return yield* Effect.scoped(Effect.gen(function*() {
 *     const out = yield* ImagePool.allocate(shape, ImageFormat.rgba8)
 *     yield* PooledImage.transfer(out, outer)
 *     return out
 *   }))
 * })
 * ```
 *
 * @category resource management
 * @since 0.1.0
 */
export const transfer = (lease: PooledImage, scope: Scope.Scope): Effect.Effect<void, GpuError> =>
  checkedStep("PooledImage.transfer", (operation) => {
    if (!(lease instanceof PooledImage)) return noLease(operation, lease)
    if (lease.list === undefined) return releasedError(operation, lease)
    if (!Predicate.hasProperty(scope, "state")) {
      return invalidRequest(operation, "the value given for a scope is none", "Pass a scope, as Effect.scope gives it.")
    }
    return lease.list.pool.withList(scope, (list) => move(operation, lease, list))
  })

/** Programs without types can pass anything. */
const noLease = (operation: string, value: unknown): GpuError =>
  wrongArgument(operation, value, "a lease", "Pass a lease of ImagePool.allocate.")

const move = (operation: string, lease: PooledImage, to: ImageList): Effect.Effect<void, GpuError> => {
  if (lease.list === undefined) return releasedError(operation, lease)
  if (to.closed) {
    const ended = to.pool.endUnsafe(lease, "scopeClosed") ?? Exit.void
    return Effect.andThen(ended, releasedError(operation, lease))
  }
  lease.list.remove(lease)
  to.add(lease)
  return Exit.void
}
