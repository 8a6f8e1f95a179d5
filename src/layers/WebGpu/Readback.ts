/**
 * Reading a buffer through a staging buffer of its own.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../domain/CommandLabel.ts"
import type { DriverObjects } from "../../domain/DriverObjects.ts"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../services/DeviceBuffer.ts"
import { awaitDevice } from "./AwaitDevice.ts"
import { driverError, inScopes, isOutOfMemory, type ScopedFailure, thrown } from "./ErrorScopes.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import { gpuOf, roundUp4, usageBits } from "./WebGpuBuffer.ts"

const mapModeRead = 0x1

class Staging {
  readonly gpu: GPUBuffer
  readonly #driverObjects: DriverObjects
  #destroyed = false

  constructor(device: GPUDevice, driverObjects: DriverObjects, size: number) {
    this.gpu = device.createBuffer({
      label: "effect-gpu-pool staging",
      size,
      usage: usageBits.mapRead | usageBits.copyDst
    })
    this.#driverObjects = driverObjects
    driverObjects.add("staging")
  }

  /** Ends a mapping too; a pending one then rejects with an AbortError. */
  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    this.gpu.destroy()
    this.#driverObjects.remove("staging")
  }
}

/**
 * Copies `bytes` bytes out, after everything submitted before. Staging, copy and mapping are asked for in one step and
 * proved by its error scopes; interruption destroys the staging buffer.
 *
 * @internal
 */
export const read = (
  opened: OpenDevice,
  source: DeviceBuffer,
  offset: number,
  bytes: number
): Effect.Effect<ArrayBuffer, GpuError> =>
  Effect.suspend(() => {
    const label = CommandLabel.read(bytes, source.label)
    let staging: Staging | undefined
    return awaitDevice<ArrayBuffer>({
      status: opened.status,
      call: "GPUBuffer.mapAsync",
      start: async () => {
        try {
          let mapping: Promise<ScopedFailure | undefined> | undefined
          const failures = await inScopes(opened.device, () => {
            staging = new Staging(opened.device, opened.driverObjects, roundUp4(bytes))
            mapping = request(opened.device, source, offset, staging)
          })
          const unmapped = await mapping
          if (staging !== undefined && failures.length === 0 && unmapped === undefined) {
            return Exit.succeed(staging.gpu.getMappedRange().slice(0, bytes))
          }
          return Exit.fail(failure(unmapped === undefined ? failures : [...failures, unmapped], label, bytes))
        } finally {
          staging?.destroy()
        }
      },
      abandon: () => staging?.destroy()
    })
  })

const request = (
  device: GPUDevice,
  source: DeviceBuffer,
  offset: number,
  staging: Staging
): Promise<ScopedFailure | undefined> => {
  const encoder = device.createCommandEncoder()
  encoder.copyBufferToBuffer(gpuOf(source), offset, staging.gpu, 0, staging.gpu.size)
  device.queue.submit([encoder.finish()])
  return staging.gpu.mapAsync(mapModeRead).then(() => undefined, thrown)
}

const failure = (failures: ReadonlyArray<ScopedFailure>, label: string, bytes: number): GpuError =>
  isOutOfMemory(failures)
    ? outOfMemory(bytes)
    : driverError("GPUBuffer.mapAsync", failures, [label])
