/**
 * Reads through staging memory: the device copies to it, and then the program maps it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { attempt } from "../../../domain/arguments/ArgumentProblem.ts"
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import { type GpuError, invalidRequest, isGpuError, released } from "../../../domain/GpuError.ts"
import { validated } from "../../calls/Validated.ts"
import type { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DeviceContext } from "../../device/DeviceContext.ts"
import type { DriverMapping, QueueDriver } from "../../device/QueueDriver.ts"
import { inSpan } from "../../device/Reading.ts"
import { logged, releaseInOrderUnsafe } from "../../device/ReleaseInOrder.ts"
import { distrustUnverified } from "../../device/UnverifiedMemory.ts"
import { using } from "../../pool/Operation.ts"
import type { Check, Part, UseStaging } from "./StagingMemory.ts"

/**
 * Copies a part to staging memory and begins to map it, synchronously. Call it in the step that has checked
 * the part.
 */
type StageUnsafe = (part: Part | undefined) => Exit.Exit<DriverMapping, GpuError>

/**
 * Runs `f` with staging memory for the bytes that `check` finds. `f` must check again in the step in which it
 * stages, since another fiber may have released the source.
 */
export const through = <A, E, R>(
  driver: QueueDriver["Service"],
  use: UseStaging,
  operation: string,
  check: Check,
  empty: Effect.Effect<A, E, R>,
  f: (stageUnsafe: StageUnsafe) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R> =>
  Effect.suspend((): Effect.Effect<A, E | GpuError, R> => {
    const asked = attempt(() => check(operation))
    if (asked === undefined) return empty
    if (isGpuError(asked)) return asked
    const { bytes } = asked
    const used = use(bytes, (staging) =>
      f((part) => {
        if (part?.bytes !== bytes) return Exit.fail(changed(operation))
        // The pool may have closed since.
        return staging.destroyed ? Exit.fail(ended(operation, bytes)) : stageUnsafe(driver, part, staging)
      }))
    return using(asked.memory.allocation, used)
  })

const ended = (operation: string, size: number): GpuError =>
  released(operation, { label: "staging memory", size, ended: "poolClosed", what: undefined })

const changed = (operation: string): GpuError =>
  invalidRequest(
    operation,
    "the options have changed while the read waited for staging memory",
    "Pass an options object that the program does not change meanwhile."
  )

const stageUnsafe = (
  driver: QueueDriver["Service"],
  { bytes, memory, offset }: Part,
  staging: DeviceBuffer
): Exit.Exit<DriverMapping, GpuError> => {
  const copied = distrustUnverified(driver.copyUnsafe(memory, offset, staging, 0, bytes), memory, staging)
  if (Exit.isFailure(copied)) return Exit.failCause(copied.cause)
  // A driver that reads through staging memory maps that in place.
  return Exit.map(driver.mapUnsafe!(staging, 0, bytes, "read"), (mapping) => mapping!)
}

/** A copy of the bytes. */
export const read = (
  driver: QueueDriver["Service"],
  use: UseStaging,
  operation: string,
  check: Check
): Effect.Effect<ArrayBuffer, GpuError> => {
  const bytes = through(driver, use, operation, check, Effect.sync(() => new ArrayBuffer(0)), (stageUnsafe) => {
    let mapping: DriverMapping | undefined
    // The mapping begins when the finalizer is already on the fiber's stack, so that no interruption can lose it.
    const staged = validated(operation, () => {
      const part = check(operation)
      if (isGpuError(part)) return part
      const begun = stageUnsafe(part)
      if (Exit.isFailure(begun)) return Exit.failCause(begun.cause)
      mapping = begun.value
      return Effect.flatMap(mapping.memory, (memory) => {
        const { bytes } = part!
        // The pool of the staging memory may have closed since, or its device.
        return memory.byteLength < bytes ? ended(operation, bytes) : Effect.succeed(memory.slice(0, bytes))
      })
    })
    return Effect.onExitPrimitive(staged, () => mapping?.unmapUnsafe())
  })
  return inSpan(operation, bytes)
}

/** Memory that is made for one read. */
export const fresh = (device: DeviceContext["Service"], driver: QueueDriver["Service"]): UseStaging => (bytes, f) =>
  Effect.acquireUseRelease(
    device.createBuffer(bytes, BufferUsage.download, "staging"),
    f,
    (staging) => logged(() => releaseInOrderUnsafe(device, driver, staging), "Staging memory")
  )
