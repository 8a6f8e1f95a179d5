/**
 * The error of a driver call that was refused, as far as a recording knows it.
 *
 * @internal
 */
import {
  DeviceLost,
  DriverError,
  type GpuError,
  LimitExceeded,
  make as makeError,
  outOfMemory
} from "../../domain/GpuError.ts"

/** What a driver call failed with, which a recording knows the reason of. */
export const refusal = (why: string, capacity: number): GpuError => {
  if (why === "OutOfMemory") return outOfMemory(capacity)
  if (why === "DeviceLost") return makeError(new DeviceLost({ backend: "recorded", detail: "as recorded" }))
  if (why === "LimitExceeded") {
    const limit = { operation: "Replay.run", requested: capacity, limitName: "the recorded limit", limit: capacity - 1 }
    return makeError(new LimitExceeded(limit))
  }
  const hint = "The driver refused this call when it was recorded."
  const call = { backend: "recorded", call: "allocate", codeName: why, code: undefined, log: "", commands: [], hint }
  return makeError(new DriverError(call))
}
