/**
 * The mapping of a staging buffer, in place: the memory that the driver maps is what the program gets.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import { type GpuError, outOfMemory } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DriverMapping } from "../../../services/device/QueueDriver.ts"
import { ask } from "../opening/AwaitDevice.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { roundUp4, type WebGpuBuffer } from "../WebGpuBuffer.ts"
import { driverError, inScopes, isOutOfMemory, type ScopedFailure, thrown } from "./ErrorScopes.ts"

/** The numbers of GPUMapMode. */
const mapMode = { read: 0x1, write: 0x2 }

export class StagingMapping implements DriverMapping {
  readonly memory: Effect.Effect<ArrayBuffer, GpuError>
  readonly #buffer: WebGpuBuffer
  readonly #contents = Deferred.makeUnsafe<ArrayBuffer, GpuError>()
  readonly #giveUp: () => void
  #isMapped = false

  /**
   * Create it in the step that has checked the range and submitted the work before it. `recorded` waits for the failures of that
   * work.
   */
  constructor(
    opened: OpenDevice,
    buffer: DeviceBuffer,
    offset: number,
    bytes: number,
    recorded: Effect.Effect<void, GpuError>
  ) {
    const from = buffer.origin + offset
    const size = roundUp4(bytes)
    this.#buffer = buffer.root as WebGpuBuffer
    this.memory = Effect.flatMap(Deferred.await(this.#contents), (contents) => Effect.as(recorded, contents))
    this.#giveUp = ask<ArrayBuffer>({
      status: opened.status,
      call: "GPUBuffer.mapAsync",
      start: async () => {
        const failures = await this.#map(opened, from, size)
        if (failures.length > 0) return Exit.fail(failureOf(failures, bytes))
        this.#isMapped = true
        return Exit.succeed(this.#buffer.gpu.getMappedRange(from, size))
      },
      abandon: () => this.#abandon()
    }, (exit) => Deferred.doneUnsafe(this.#contents, exit))
  }

  readonly unmapUnsafe = (): Exit.Exit<void, GpuError> => {
    this.#giveUp()
    // The fiber that waits for the memory learns that the mapping has ended.
    Deferred.doneUnsafe(this.#contents, Exit.succeed(new ArrayBuffer(0)))
    if (this.#isMapped) this.#buffer.gpu.unmap()
    this.#isMapped = false
    return Exit.void
  }

  async #map({ device }: OpenDevice, from: number, size: number): Promise<ReadonlyArray<ScopedFailure>> {
    const buffer = this.#buffer
    const mode = buffer.usage === BufferUsage.download ? mapMode.read : mapMode.write
    let mapping: Promise<ScopedFailure | undefined> | undefined
    const scoped = inScopes(device, () => {
      mapping = buffer.gpu.mapAsync(mode, from, size).then(() => undefined, thrown)
    })
    buffer.mapping = mapping
    const [failures, failure] = [await scoped, await mapping]
    buffer.mapping = undefined
    return failure === undefined ? failures : [...failures, failure]
  }

  /** Nobody waits for the driver any more. Until it answers, no other owner may have the memory. */
  #abandon(): void {
    this.#buffer.recyclable = false
    void this.#buffer.mapping?.then(() => this.#buffer.gpu.unmap())
  }
}

const failureOf = (failures: ReadonlyArray<ScopedFailure>, bytes: number): GpuError =>
  isOutOfMemory(failures) ? outOfMemory(bytes) : driverError("GPUBuffer.mapAsync", failures, [])
