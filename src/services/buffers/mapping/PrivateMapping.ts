/**
 * A mapping as a private copy of the bytes, which is written back at the end.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import { detachMemory, lend } from "../../../domain/data/DetachMemory.ts"
import * as HostData from "../../../domain/data/HostData.ts"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import { type GpuError, invalidRequest, outOfMemory } from "../../../domain/GpuError.ts"
import { BytesInFlight } from "../../device/BytesInFlight.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DriverMapping, MapAccess, QueueDriver } from "../../device/QueueDriver.ts"
import type { Begin } from "../../device/Reading.ts"
import { distrustUnverified } from "../../device/UnverifiedMemory.ts"

/** A range of a buffer or a region of an image, as its driver copies it. */
export interface CopiedPart {
  readonly bytes: number
  readonly readUnsafe: Begin
  /** Takes effect when called, and copies its data before it returns. */
  readonly writeUnsafe: (data: Uint8Array<ArrayBuffer>) => Exit.Exit<void, GpuError>
}

export class PrivateMapping implements DriverMapping {
  readonly #driver: QueueDriver["Service"]
  readonly #status: DeviceStatus
  readonly #part: CopiedPart
  readonly #access: MapAccess
  readonly #contents = Deferred.makeUnsafe<ArrayBuffer, GpuError>()
  readonly #giveUp: () => void
  /** The copy; `undefined` before it is read. */
  #copy: ArrayBuffer | undefined = undefined
  #ended = false

  /** Create it in the step that has checked the range: the read begins at once. */
  constructor(driver: QueueDriver["Service"], status: DeviceStatus, part: CopiedPart, access: MapAccess) {
    this.#driver = driver
    this.#status = status
    this.#part = part
    this.#access = access
    this.#giveUp = access === "write"
      ? this.#beginEmpty()
      : part.readUnsafe((bytes) => Deferred.doneUnsafe(this.#contents, bytes))
  }

  readonly memory: Effect.Effect<ArrayBuffer, GpuError> = Effect.map(Deferred.await(this.#contents), (copy) => {
    // The mapping may have ended meanwhile: then nothing is written back, and no program gets the copy.
    if (this.#ended) detachMemory(copy)
    else this.#copy = lend(copy)
    return copy
  })

  readonly unmapUnsafe = (): Exit.Exit<void, GpuError> => {
    this.#ended = true
    const copy = this.#copy
    if (copy === undefined) {
      this.#giveUp()
      // The fiber that waits for the copy learns that the mapping has ended.
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

  /** The program may have transferred the copy, as to a worker: then it belongs to the program. */
  #writeBack(copy: ArrayBuffer): Exit.Exit<void, GpuError> {
    const { byteLength } = copy
    if (byteLength === 0) {
      return Exit.fail(invalidRequest(
        "Mapping.unmap",
        "the mapped array was transferred to another ArrayBuffer, and what was stored in it is lost",
        "Copy it with slice(), and transfer the copy."
      ))
    }
    const written = this.#part.writeUnsafe(new Uint8Array(copy))
    BytesInFlight.of(this.#driver).add(byteLength)
    return written
  }

  /** A mapping for `"write"` begins with zeros. */
  #beginEmpty(): () => void {
    const { bytes } = this.#part
    const copy = HostData.allocate(bytes)
    Deferred.doneUnsafe(this.#contents, copy === undefined ? outOfMemory(bytes) : Exit.succeed(copy))
    return constVoid
  }
}

/**
 * Maps bytes of a buffer, checked and claimed: in place where the driver can, else a copy.
 */
export const mapUnsafe = (
  driver: QueueDriver["Service"],
  status: DeviceStatus,
  memory: DeviceBuffer,
  { access, bytes, offset }: { readonly access: MapAccess; readonly bytes: number; readonly offset: number }
): Exit.Exit<DriverMapping, GpuError> => {
  const inPlace = driver.mapUnsafe?.(memory, offset, bytes, access) ?? Exit.succeed(undefined)
  const copied = () =>
    new PrivateMapping(driver, status, {
      bytes,
      readUnsafe: (answer) => driver.readUnsafe(memory, offset, bytes, answer),
      writeUnsafe: (data) => driver.writeUnsafe(memory, offset, data)
    }, access)
  return Exit.map(distrustUnverified(inPlace, memory), (mapping) => mapping ?? copied())
}
