/**
 * Mapping of memory that no program can see: a private copy of its bytes, written back at the end.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { detachMemory } from "../../domain/DetachMemory.ts"
import type { DeviceStatus } from "../../domain/DeviceStatus.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../domain/GpuError.ts"
import * as HostData from "../../domain/HostData.ts"
import type { DriverMapping, MapAccess } from "../QueueDriver.ts"

/**
 * A part of a buffer or of an image, as its driver copies it.
 *
 * @internal
 */
export interface CopiedPart {
  readonly bytes: number
  readonly read: () => Effect.Effect<ArrayBuffer, GpuError>
  /** Takes effect when called, and copies its data before it returns. */
  readonly writeUnsafe: (data: Uint8Array<ArrayBuffer>) => Exit.Exit<void, GpuError>
}

/** @internal */
export class PrivateMapping implements DriverMapping {
  readonly #status: DeviceStatus
  readonly #part: CopiedPart
  readonly #access: MapAccess
  /** The copy, once there is one. */
  #copy: ArrayBuffer | undefined = undefined
  #ended = false

  constructor(status: DeviceStatus, part: CopiedPart, access: MapAccess) {
    this.#status = status
    this.#part = part
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
    return isGpuError(bytes) ? Exit.fail(bytes) : this.#part.writeUnsafe(bytes)
  }

  #contents(): Effect.Effect<ArrayBuffer, GpuError> {
    const { bytes, read } = this.#part
    if (this.#access !== "write") return read()
    const copy = HostData.allocate(bytes)
    return copy === undefined ? outOfMemory(bytes) : Effect.succeed(copy)
  }
}
