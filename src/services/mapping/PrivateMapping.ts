/**
 * Mapping for devices whose memory no program can see: a private copy of the bytes, written back at the end.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { detachMemory } from "../../domain/DetachMemory.ts"
import type { DeviceStatus } from "../../domain/DeviceStatus.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../domain/GpuError.ts"
import * as HostData from "../../domain/HostData.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import type { DriverMapping, MapAccess, QueueDriver } from "../QueueDriver.ts"

/** @internal */
export class PrivateMapping implements DriverMapping {
  readonly #driver: QueueDriver
  readonly #status: DeviceStatus
  readonly #buffer: DeviceBuffer
  readonly #offset: number
  readonly #bytes: number
  readonly #access: MapAccess
  /** The copy, once there is one. */
  #copy: ArrayBuffer | undefined = undefined
  #ended = false

  constructor(
    driver: QueueDriver,
    status: DeviceStatus,
    part: { readonly buffer: DeviceBuffer; readonly offset: number; readonly bytes: number },
    access: MapAccess
  ) {
    this.#driver = driver
    this.#status = status
    this.#buffer = part.buffer
    this.#offset = part.offset
    this.#bytes = part.bytes
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
    return isGpuError(bytes) ? Exit.fail(bytes) : this.#driver.writeUnsafe(this.#buffer, this.#offset, bytes)
  }

  #contents(): Effect.Effect<ArrayBuffer, GpuError> {
    if (this.#access !== "write") return this.#driver.read(this.#buffer, this.#offset, this.#bytes)
    const copy = HostData.allocate(this.#bytes)
    return copy === undefined ? outOfMemory(this.#bytes) : Effect.succeed(copy)
  }
}
