/**
 * Waiting for promises of a device that may be lost meanwhile: after a loss some of them never settle, others succeed.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { DeviceStatus } from "../../domain/DeviceStatus.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { driverError, thrown } from "./ErrorScopes.ts"

const notListening = (): void => {}

/**
 * Calls `start`, in the same step, and waits for its answer or for the loss of the device. When the wait ends otherwise
 * than with the answer (interruption, loss), `abandon` gives back what `start` created.
 *
 * @internal
 */
export const awaitDevice = <A>(options: {
  readonly status: DeviceStatus
  /** The driver's function, for the error of a promise that rejects. */
  readonly call: string
  readonly start: () => Promise<Exit.Exit<A, GpuError>>
  readonly abandon?: (() => void) | undefined
}): Effect.Effect<A, GpuError> =>
  Effect.callback((resume) => {
    let waiting = true
    let stop = notListening
    const settle = (exit: Exit.Exit<A, GpuError>): void => {
      if (!waiting) return
      waiting = false
      stop()
      resume(exit)
    }
    const abandon = (): void => {
      if (waiting) options.abandon?.()
    }
    stop = options.status.onLost((error) => {
      abandon()
      settle(Exit.fail(error))
    })
    if (waiting) {
      options.start().then(settle, (cause) => settle(Exit.fail(driverError(options.call, [thrown(cause)], []))))
    }
    return Effect.sync(() => {
      abandon()
      waiting = false
      stop()
    })
  })
