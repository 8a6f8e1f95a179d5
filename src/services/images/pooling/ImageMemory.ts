/**
 * The images of one pool: what is held, leased and asked of the driver, and everything that can be done with them.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import { type GpuError, make as makeError, OutOfMemory, type Rung } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../../domain/images/ImageUsage.ts"
import { PoolCore } from "../../../domain/PoolCore.ts"
import type { DeviceContext } from "../../DeviceContext.ts"
import type { DeviceImage } from "../DeviceImage.ts"
import type { Images } from "../Images.ts"
import type { PooledImage } from "../PooledImage.ts"
import { type ImageBlock, ImageLeases } from "./ImageLeases.ts"
import { type ImageRequest, operation, unavailable } from "./ImageRequest.ts"

/**
 * Options that were checked and made definite for one device.
 *
 * @internal
 */
export interface ImagePoolSettings {
  readonly maxBytes: number
  readonly maxHeldBytes: number
  readonly clear: boolean
  readonly label: string | undefined
}

/** @internal */
export class ImageMemory {
  readonly core: PoolCore<DeviceImage, string>
  readonly leases: ImageLeases
  readonly images: Images["Service"]
  readonly device: DeviceContext["Service"]
  readonly settings: ImagePoolSettings
  /** Waits until the driver has really given back what was destroyed. */
  readonly reclaim: Effect.Effect<void, GpuError>
  /** Driver calls under way. */
  readonly inFlight = new Set<Fiber.Fiber<DeviceImage, GpuError>>()

  constructor(
    settings: ImagePoolSettings,
    device: DeviceContext["Service"],
    images: Images["Service"],
    reclaim: Effect.Effect<void, GpuError>
  ) {
    const { maxBytes, maxHeldBytes } = settings
    this.settings = settings
    this.device = device
    this.images = images
    this.reclaim = reclaim
    this.core = new PoolCore({ maxBytes, maxHeldBytes })
    this.leases = new ImageLeases(this.core, images)
  }

  /** A pool that clears its images fills them itself. What is no usage stays none. */
  blockUsage(usage: ImageUsage.ImageUsage): ImageUsage.ImageUsage {
    return this.settings.clear && ImageUsage.problem(usage) === undefined ? usage | ImageUsage.copyDst : usage
  }

  /** Why nobody should be given this image any more. */
  problem(request: ImageRequest): GpuError | undefined {
    if (this.device.status.error !== undefined) return this.device.status.error
    if (this.leases.closed) return unavailable(request, "poolClosed")
    return request.list.closed ? unavailable(request, "scopeClosed") : this.limitProblem(request.size)
  }

  /** LimitExceeded for an image that can never fit. */
  limitProblem(bytes: number): GpuError | undefined {
    return BufferRequest.deviceLimitProblem(operation, bytes, this.device.info.limits, "memoryBytes") ??
      BufferRequest.limitProblem(operation, bytes, "maxBytes", this.core.maxBytes, {
        kind: "pool",
        name: this.settings.label
      })
  }

  /** A lease on a held image, if there is one. */
  search(request: ImageRequest): Effect.Effect<PooledImage, GpuError> | undefined {
    const held = this.core.acquireOwn(request.key, request.size, request.size)
    return held === undefined ? undefined : this.handOut(request, held)
  }

  /** Turns an active image into a lease. */
  handOut(request: ImageRequest, block: ImageBlock): Effect.Effect<PooledImage, GpuError> {
    const { label, list, usage } = request
    const cleared = this.settings.clear ? this.#clear(block.value, label) : Exit.void
    if (Exit.isFailure(cleared)) {
      block.value.recyclable = false
      return Effect.andThen(this.leases.recycle(block) ?? Exit.void, Exit.failCause(cleared.cause))
    }
    const lease = this.leases.grant(list, block, usage, label)
    request.granted = lease
    return Exit.succeed(lease)
  }

  /** What is left of a request that has ended: its reservation, and a lease that nobody saw. */
  letGo(request: ImageRequest, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> | undefined {
    const { granted, reserved } = request
    if (reserved > 0) {
      request.reserved = 0
      this.core.unreserve(reserved)
    }
    return Exit.isFailure(exit) && granted?.list !== undefined && granted.list === request.list
      ? this.leases.endUnsafe(granted, "scopeClosed")
      : undefined
  }

  /** Evicts until the limit has room, if evicting can do it: the smallest image that covers it, else the largest. */
  makeRoom(bytes: number): Effect.Effect<void> | undefined {
    const deficit = this.core.deficit(bytes)
    return deficit > this.core.heldBytes
      ? undefined
      : this.leases.freeAll(this.core.trim(this.core.managedBytes - deficit))
  }

  /** By how much the driver lacks memory is unknown: one image, the largest, and only while it can help. */
  evictLargest(bytes: number): Effect.Effect<void> | undefined {
    const { memoryBytes } = this.device.info.limits
    const activeCapacity = this.core.managedBytes - this.core.heldBytes
    if (memoryBytes !== undefined && activeCapacity + bytes > memoryBytes) return undefined
    const block = this.core.evictLargest()
    return block === undefined ? undefined : this.leases.free(block) ?? Exit.void
  }

  trimTo(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => Effect.andThen(this.leases.freeAll(this.core.trim(bytes)), this.reclaim))
  }

  readonly freeHeld: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    Effect.andThen(this.leases.freeAll(this.core.evictAll()), this.reclaim)
  )

  /** After the device was lost, or the pool closed, nothing is held any more. */
  resumeHolding(): void {
    if (!this.leases.closed && this.device.status.error === undefined) this.core.resumeHolding()
  }

  /** The device is lost: nothing that is held can be used again, and nobody needs to wait for its driver. */
  drop(): Effect.Effect<void> {
    this.core.stopHolding()
    for (const running of this.inFlight) running.interruptUnsafe()
    return this.leases.freeAll(this.core.evictAll())
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(this.leases.close(), Fiber.interruptAll(this.inFlight))
  )

  outOfMemory(request: ImageRequest, rungs: ReadonlySet<Rung>): GpuError {
    const { core } = this
    return makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.size,
        pooled: true,
        limitName: "maxBytes",
        ...(this.settings.label === undefined ? {} : { limitLabel: this.settings.label }),
        ...core.evidence,
        rungs: [...rungs],
        standstill: [],
        waitedMillis: undefined,
        holders: this.leases.largestHolders(3)
      })
    )
  }

  /** In queue order. A failing fill is the new owner's, not the last one's. */
  #clear(image: DeviceImage, label: string | undefined): Exit.Exit<void, GpuError> {
    image.label = label
    const element = new Uint8Array(ImageFormat.elementBytes(image.format))
    return this.images.driver.fillUnsafe(image, ImageShape.whole(image.shape), element)
  }
}
