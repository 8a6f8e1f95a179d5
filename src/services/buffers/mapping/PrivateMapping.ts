/**
 * Mapping of memory that no program can see: a private copy of its bytes, written back at the end.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import { detachMemory } from "../../../domain/DetachMemory.ts"
import type { DeviceStatus } from "../../../domain/DeviceStatus.ts"
import { type GpuError, isGpuError, outOfMemory } from "../../../domain/GpuError.ts"
import * as HostData from "../../../domain/HostData.ts"
import type { DriverMapping, MapAccess } from "../../device/QueueDriver.ts"
import type { Begin } from "../../device/Reading.ts"

/**
 * A part of a buffer or of an image, as its driver copies it.
 *
 * @internal
 */
export interface CopiedPart {
  readonly bytes: number
  readonly readUnsafe: Begin
  /** Takes effect when called, and copies its data before it returns. */
  readonly writeUnsafe: (data: Uint8Array<ArrayBuffer>) => Exit.Exit<void, GpuError>
}

/** @internal */
export class PrivateMapping implements DriverMapping {
  readonly #status: DeviceStatus
  readonly #part: CopiedPart
  readonly #access: MapAccess
  readonly #contents = Deferred.makeUnsafe<ArrayBuffer, GpuError>()
  readonly #giveUp: () => void
  /** The copy, once there is one. */
  #copy: ArrayBuffer | undefined = undefined
  #ended = false

  /** To be made in the step in which the part was found to be usable: that is when it is read. */
  constructor(status: DeviceStatus, part: CopiedPart, access: MapAccess) {
    this.#status = status
    this.#part = part
    this.#access = access
    this.#giveUp = access === "write"
      ? this.#beginEmpty()
      : part.readUnsafe((bytes) => Deferred.doneUnsafe(this.#contents, bytes))
  }

  readonly memory: Effect.Effect<ArrayBuffer, GpuError> = Effect.map(Deferred.await(this.#contents), (copy) => {
    // Where the mapping has ended meanwhile, nothing is to be written back, and no program gets the copy.
    if (this.#ended) detachMemory(copy)
    else this.#copy = copy
    return copy
  })

  readonly unmapUnsafe = (): Exit.Exit<void, GpuError> => {
    this.#ended = true
    const copy = this.#copy
    if (copy === undefined) {
      this.#giveUp()
      // Who waits for the copy finds that the mapping has ended.
      Deferred.doneUnsafe(this.#contents, Exit.succeed(new ArrayBuffer(0)))
      return Exit.void
    }
    this.#copy = undefined
    const written = this.#access === "read" || this.#status.error !== undefined
      ? Exit.void
      : this.#writeBack(copy)
    detachMemory(copy)
    return written
  }

  /** What is mapped to be written alone begins with zeros. */
  #beginEmpty(): () => void {
    const { bytes } = this.#part
    const copy = HostData.allocate(bytes)
    Deferred.doneUnsafe(this.#contents, copy === undefined ? outOfMemory(bytes) : Exit.succeed(copy))
    return constVoid
  }

  /** A program may have transferred the copy elsewhere, as to a worker. */
  #writeBack(copy: ArrayBuffer): Exit.Exit<void, GpuError> {
    const bytes = HostData.bytes("Mapping.unmap", copy)
    return isGpuError(bytes) ? Exit.fail(bytes) : this.#part.writeUnsafe(bytes)
  }
}
