/**
 * Reads as programs wait for them. The check and the beginning are one step; giving up is one step too.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { readValues } from "../../domain/ArgumentProblem.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type { ReadAnswer } from "./QueueDriver.ts"

/** Begins a driver's read, and returns the way to give it up. */
export type Begin = (answer: ReadAnswer) => () => void

/**
 * Checks and begins in one step, so that no other fiber can end the source between the two, and waits for the bytes.
 * The check returns how the driver begins, or the error, or nothing where there are no bytes to read.
 */
export const read = (
  operation: string,
  check: (operation: string) => Begin | GpuError | undefined
): Effect.Effect<ArrayBuffer, GpuError> =>
  Effect.callback((resume) => {
    const begin = readValues(operation, () => check(operation))
    if (begin === undefined) return resume(Effect.succeed(new ArrayBuffer(0)))
    return isGpuError(begin) ? resume(begin) : Effect.sync(begin(resume))
  })
