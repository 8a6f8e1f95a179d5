/**
 * Why requests of a replay fail, as far as a recording knows it.
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
} from "effect-gpu-pool/GpuError"
import type { Request } from "effect-gpu-pool/Request"
import type { Reason } from "./ReplayReport.ts"

/** Of a request that has failed; undefined of others, and where the driver call was interrupted. */
export const reasonOf = ({ failure, state }: Request): Reason | undefined => {
  const error = state === "failed" ? failure?.() : undefined
  return error !== undefined && "reason" in error ? error.reason._tag : undefined
}

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
