/**
 * Reads through staging memory: the device copies to it, and then the program maps it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { readValues } from "../../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import { type GpuError, invalidRequest, isGpuError, make as makeError, Released } from "../../../domain/GpuError.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DeviceContext } from "../../device/DeviceContext.ts"
import { giveBackUnsafe, logged } from "../../device/GivingBack.ts"
import type { DriverMapping, QueueDriver } from "../../device/QueueDriver.ts"
import { inSpan } from "../../device/Reading.ts"
import { distrustUnproven } from "../../device/UnprovenMemory.ts"
import { using } from "../../pool/waiting/Job.ts"
import type { Check, Lend, Part } from "./StagingLender.ts"

/**
 * Lends staging memory for the bytes that `check` finds, and runs `f` with both. It checks again in that step: another fiber
 * may have ended the source while this one waited for the memory.
 */
export const through = <A, E, R>(
  lend: Lend,
  operation: string,
  check: Check,
  empty: Effect.Effect<A, E, R>,
  f: (part: Part, staging: DeviceBuffer) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
    const asked = readValues(operation, () => check(operation))
    if (asked === undefined) return empty
    if (isGpuError(asked)) return asked
    const lent = lend(asked.bytes, (staging): Effect.Effect<A, E | GpuError, R> => {
      const part = readValues(operation, () => check(operation))
      if (isGpuError(part)) return part
      return part?.bytes === asked.bytes ? f(part, staging) : changed(operation)
    })
    return using(asked.memory.wholeMemory, lent)
  })

const ended = (operation: string, size: number): GpuError =>
  makeError(new Released({ operation, label: "staging memory", size, why: "poolClosed", what: undefined }))

const changed = (operation: string): GpuError =>
  invalidRequest(
    operation,
    "the options have changed while the read waited for staging memory",
    "Pass an object of their own."
  )

/** Records the copy to staging memory, and begins to map that, in this step. */
export const stageUnsafe = (
  driver: QueueDriver["Service"],
  { bytes, memory, offset }: Part,
  staging: DeviceBuffer
): Exit.Exit<DriverMapping, GpuError> => {
  const copied = distrustUnproven(driver.copyUnsafe(memory, offset, staging, 0, bytes), memory, staging)
  if (Exit.isFailure(copied)) return Exit.failCause(copied.cause)
  // A driver that reads through staging memory maps that in place.
  return Exit.map(driver.mapUnsafe!(staging, 0, bytes, "read"), (mapping) => mapping!)
}

/** A copy of the bytes. */
export const read = (
  driver: QueueDriver["Service"],
  lend: Lend,
  operation: string,
  check: Check
): Effect.Effect<ArrayBuffer, GpuError> => {
  const bytes = through(lend, operation, check, Effect.sync(() => new ArrayBuffer(0)), (part, staging) => {
    let mapping: DriverMapping | undefined
    // It begins inside, after the finalizer is on the fiber's stack, so that no interruption can lose the mapping.
    const staged = Effect.suspend(() => {
      const begun = stageUnsafe(driver, part, staging)
      if (Exit.isFailure(begun)) return Exit.failCause(begun.cause)
      mapping = begun.value
      return Effect.flatMap(mapping.memory, (memory) => {
        // The pool of the staging memory may have closed since, or its device.
        if (memory.byteLength < part.bytes) return ended(operation, part.bytes)
        return Effect.succeed(memory.slice(0, part.bytes))
      })
    })
    return Effect.onExitPrimitive(staged, () => mapping?.unmapUnsafe())
  })
  return inSpan(operation, bytes)
}

/** Memory that is made for one read. */
export const fresh = (device: DeviceContext["Service"], driver: QueueDriver["Service"]): Lend => (bytes, f) =>
  Effect.acquireUseRelease(
    device.createBuffer(bytes, BufferUsage.download, "staging"),
    f,
    (staging) => logged(() => giveBackUnsafe(device, driver, staging), "Staging memory")
  )
