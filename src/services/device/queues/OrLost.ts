/**
 * Waiting for a device that may be lost meanwhile.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../../domain/GpuError.ts"

/** Waits until `start` calls `done`, or the device is lost. `start` returns the function that cancels the call of `done`. */
export const orLost = (
  status: DeviceStatus,
  start: (done: () => void) => () => void
): Effect.Effect<void, GpuError> =>
  Effect.callback<void, GpuError>((resume) => {
    let cancel = constVoid
    const stop = status.onLost((error) => {
      cancel()
      resume(error)
    })
    cancel = start(() => {
      stop()
      resume(status.error ?? Exit.void)
    })
    return Effect.sync(() => {
      stop()
      cancel()
    })
  })
