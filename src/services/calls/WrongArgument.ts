/**
 * The error of an argument of another kind than a buffer, an image or an array.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { formatted } from "../../domain/arguments/Format.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"

/**
 * The error of an argument of another type. Programs often pass the effect that makes a buffer in place of the buffer.
 */
export const wrongArgument = (operation: string, value: unknown, what: string, hint: string): GpuError => {
  const isEffect = Effect.isEffect(value)
  return invalidRequest(
    operation,
    `${isEffect ? "an effect" : formatted(value)} was given for ${what}`,
    isEffect ? "An effect that makes one must be yielded first: pass the result of yield*." : hint
  )
}
