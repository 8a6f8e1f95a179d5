/**
 * Mapping a part of an image, on every backend: a private copy of its elements, written back at the end.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { detachMemory } from "../../domain/DetachMemory.ts"
import type { DeviceStatus } from "../../domain/DeviceStatus.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../domain/GpuError.ts"
import * as HostData from "../../domain/HostData.ts"
import { elementBytes } from "../../domain/images/ImageFormat.ts"
import { count, type ImageRegion } from "../../domain/images/ImageShape.ts"
import type { DriverMapping, MapAccess } from "../QueueDriver.ts"
import type { DeviceImage } from "./DeviceImage.ts"
import type { ImageDriver } from "./ImageDriver.ts"

/** @internal */
export class ImageMapping implements DriverMapping {
  readonly #driver: ImageDriver
  readonly #status: DeviceStatus
  readonly #image: DeviceImage
  readonly #region: ImageRegion
  readonly #access: MapAccess
  /** The copy, once there is one. */
  #copy: ArrayBuffer | undefined = undefined
  #ended = false

  constructor(
    driver: ImageDriver,
    status: DeviceStatus,
    image: DeviceImage,
    region: ImageRegion,
    access: MapAccess
  ) {
    this.#driver = driver
    this.#status = status
    this.#image = image
    this.#region = region
    this.#access = access
  }

  readonly memory: Effect.Effect<ArrayBuffer, GpuError> = Effect.suspend(() =>
    Effect.map(this.#contents(), (copy) => {
      // Where the mapping has ended meanwhile, nothing is to be written back, and nobody gets the copy.
      if (this.#ended) detachMemory(copy)
      else this.#copy = copy
      return copy
    })
  )

  readonly unmapUnsafe = (): Exit.Exit<void, GpuError> => {
    this.#ended = true
    const copy = this.#copy
    if (copy === undefined) return Exit.void
    this.#copy = undefined
    const written = this.#access === "read" || this.#status.error !== undefined
      ? Exit.void
      : this.#writeBack(copy)
    detachMemory(copy)
    return written
  }

  /** A program may have transferred the copy elsewhere, as to a worker. */
  #writeBack(copy: ArrayBuffer): Exit.Exit<void, GpuError> {
    const bytes = HostData.bytes("Mapping.unmap", copy)
    return isGpuError(bytes) ? Exit.fail(bytes) : this.#driver.writeUnsafe(this.#image, this.#region, bytes)
  }

  #contents(): Effect.Effect<ArrayBuffer, GpuError> {
    if (this.#access !== "write") return this.#driver.read(this.#image, this.#region)
    const bytes = count(this.#region) * elementBytes(this.#image.format)
    const copy = HostData.allocate(bytes)
    return copy === undefined ? outOfMemory(bytes) : Effect.succeed(copy)
  }
}
