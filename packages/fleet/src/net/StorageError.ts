/**
 * The error of a storage that could not be opened, or does not answer.
 *
 * @internal
 */
import { driverError, type GpuError } from "effect-gpu-pool/GpuError"
import type { SqlError } from "effect/sql/SqlError"

/** `call` is what the fleet wanted of it. */
export const storageError = (call: string, error: SqlError, hint: string): GpuError => {
  const { cause, message } = error.reason
  const detail = cause instanceof Error ? cause.message : String(cause)
  return driverError({
    backend: "fleet storage",
    call,
    log: message === undefined ? detail : `${message}: ${detail}`,
    hint
  })
}
