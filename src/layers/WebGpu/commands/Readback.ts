/**
 * Reading a buffer or a texture: a copy into a buffer that is then mapped.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import * as CommandLabel from "../../../domain/arguments/CommandLabel.ts"
import { type GpuError, outOfMemory } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import { ask } from "../opening/AwaitDevice.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { gpuOf, roundUp4 } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { encodeCopy } from "./ByteCopies.ts"
import { driverError, isOutOfMemory, type ScopedFailure } from "./ErrorScopes.ts"
import { ReadBuffer } from "./ReadBuffers.ts"

/** What is read, and how it comes into the buffer that is mapped. */
export interface Reading {
  /** Its name in errors. */
  readonly label: CommandLabel.CommandLabel
  /** How many are mapped. */
  readonly bytes: number
  readonly encode: (encoder: WebGpuHandle.CommandEncoder, mapped: WebGpuHandle.Buffer) => void
  /** Copies what is wanted out of the mapped bytes. */
  readonly take: (mapped: ArrayBuffer) => ArrayBuffer
}

export const ofBuffer = (source: DeviceBuffer, offset: number, bytes: number): Reading => ({
  label: CommandLabel.read(bytes, source),
  bytes,
  encode: (encoder, mapped) => encodeCopy(encoder, gpuOf(source), source.origin + offset, mapped, 0, roundUp4(bytes)),
  take: (mapped) => mapped.slice(0, bytes)
})

/** The submit that a read is part of. */
export interface Submit {
  /** The buffer to map; without it the read makes one. */
  readonly buffer?: ReadBuffer | undefined
  /** Submits, in error scopes, what `encode` encodes last, then calls `submitted`. */
  readonly run: (
    encode: (encoder: WebGpuHandle.CommandEncoder) => void,
    submitted: () => void
  ) => Promise<ReadonlyArray<ScopedFailure>>
  /** Gets the buffer, mapped, when its bytes were copied. */
  readonly done: (buffer: ReadBuffer) => void
}

/**
 * The copy is submitted and the mapping requested in this step: so the copy comes before any later change of the source.
 * The returned function gives up and destroys the mapped buffer.
 */
export const readUnsafe = (
  opened: OpenDevice,
  reading: Reading,
  submit: Submit,
  answer: (bytes: Exit.Exit<ArrayBuffer, GpuError>) => void
): () => void => {
  const { bytes } = reading
  let { buffer } = submit
  const destroy = (): void => buffer?.destroy()
  return ask<ArrayBuffer>({
    status: opened.status,
    call: "GPUBuffer.mapAsync",
    start: async () => {
      let mapping: Promise<ScopedFailure | undefined> | undefined
      const failures = await submit.run((encoder) => {
        buffer ??= new ReadBuffer(opened, bytes)
        reading.encode(encoder, buffer.gpu)
      }, () => {
        mapping = buffer!.map(bytes)
      })
      const unmapped = await mapping
      const known = unmapped === undefined ? failures : [...failures, unmapped]
      if (buffer === undefined || buffer.isDestroyed || known.length > 0) {
        destroy()
        return Exit.fail(failure(known, reading))
      }
      try {
        return Exit.succeed(reading.take(buffer.mapped(bytes)))
      } finally {
        submit.done(buffer)
      }
    },
    abandon: destroy
  }, answer)
}

const failure = (failures: ReadonlyArray<ScopedFailure>, { bytes, label }: Reading): GpuError =>
  isOutOfMemory(failures) ? outOfMemory(bytes) : driverError("GPUBuffer.mapAsync", failures, [label()])
