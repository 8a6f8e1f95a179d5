/**
 * Reading a buffer or a texture through a staging buffer of its own.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import { type GpuError, outOfMemory } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { ReadAnswer } from "../../../services/device/QueueDriver.ts"
import { ask } from "../opening/AwaitDevice.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { gpuOf, roundUp4, usageBits } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { encodeCopy } from "./ByteCopies.ts"
import { driverError, inScopes, isOutOfMemory, type ScopedFailure, thrown } from "./ErrorScopes.ts"

const mapModeRead = 0x1

const stagingBuffer = ({ device, driverObjects }: OpenDevice, size: number) => {
  const gpu = device.createBuffer({
    label: "effect-gpu-pool staging",
    size,
    usage: usageBits.mapRead | usageBits.copyDst
  })
  driverObjects.add("staging")
  let mapping: Promise<unknown> = Promise.resolve()
  let isDestroyed = false
  return {
    gpu,
    /** Maps it for reading, and returns what failed. */
    map: (): Promise<ScopedFailure | undefined> => {
      const failed = gpu.mapAsync(mapModeRead).then(() => undefined, thrown)
      mapping = failed
      return failed
    },
    /**
     * A pending mapping is waited for: when one is cut short, Dawn's binding may settle its promise twice, which ends
     * the process.
     */
    destroy: (): void => {
      if (isDestroyed) return
      isDestroyed = true
      void mapping.then(() => gpu.destroy())
      driverObjects.remove("staging")
    }
  }
}

type Staging = ReturnType<typeof stagingBuffer>

/** Copies `bytes` bytes out, after everything submitted before. */
export const readUnsafe = (
  opened: OpenDevice,
  source: DeviceBuffer,
  offset: number,
  bytes: number,
  answer: ReadAnswer
): () => void =>
  readThroughUnsafe(opened, {
    label: CommandLabel.read(bytes, source),
    bytes,
    encode: (encoder, staging) => encodeCopy(encoder, gpuOf(source), source.origin + offset, staging, 0, staging.size),
    take: (staged) => staged.slice(0, bytes)
  }, answer)

/** What is read, and how it comes into the staging buffer. */
export interface Reading {
  /** Its name in errors. */
  readonly label: CommandLabel.CommandLabel
  /** Of the staging buffer. */
  readonly bytes: number
  readonly encode: (encoder: WebGpuHandle.CommandEncoder, staging: WebGpuHandle.Buffer) => void
  /** Copies what is wanted out of the mapped bytes. */
  readonly take: (staged: ArrayBuffer) => ArrayBuffer
}

/**
 * Staging buffer, copy and mapping are requested in this step, inside its error scopes: so the copy comes before any
 * later change of the source. The returned function gives up and destroys the staging buffer.
 */
export const readThroughUnsafe = (
  opened: OpenDevice,
  reading: Reading,
  answer: (bytes: Exit.Exit<ArrayBuffer, GpuError>) => void
): () => void => {
  const { bytes } = reading
  const { device, status } = opened
  let staging: Staging | undefined
  return ask<ArrayBuffer>({
    status,
    call: "GPUBuffer.mapAsync",
    start: async () => {
      try {
        let mapping: Promise<ScopedFailure | undefined> | undefined
        const failures = await inScopes(device, () => {
          staging = stagingBuffer(opened, roundUp4(bytes))
          const encoder = device.createCommandEncoder()
          reading.encode(encoder, staging.gpu)
          device.queue.submit([encoder.finish()])
          mapping = staging.map()
        })
        const unmapped = await mapping
        if (staging !== undefined && failures.length === 0 && unmapped === undefined) {
          return Exit.succeed(reading.take(staging.gpu.getMappedRange()))
        }
        return Exit.fail(failure(unmapped === undefined ? failures : [...failures, unmapped], reading))
      } finally {
        staging?.destroy()
      }
    },
    abandon: () => staging?.destroy()
  }, answer)
}

const failure = (failures: ReadonlyArray<ScopedFailure>, { bytes, label }: Reading): GpuError =>
  isOutOfMemory(failures) ? outOfMemory(bytes) : driverError("GPUBuffer.mapAsync", failures, [label()])
