/**
 * Converts between errors and the reasons that a recording has for them.
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

/** The reason of a failed request; undefined for other requests, and where the driver call was interrupted. */
export const reasonOf = ({ failure, state }: Request): Reason | undefined => {
  const error = state === "failed" ? failure?.() : undefined
  return error !== undefined && "reason" in error ? error.reason._tag : undefined
}

/** An error of a driver call, made from the recorded reason. */
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
