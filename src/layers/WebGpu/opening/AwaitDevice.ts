/**
 * Waiting for promises of a device that may be lost meanwhile: after a loss some of them never settle, others succeed.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import type { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { driverError, thrown } from "../commands/ErrorScopes.ts"

/** One question to a device. */
export interface Question<A> {
  readonly status: DeviceStatus
  /** The driver's function, for the error of a promise that rejects. */
  readonly call: string
  readonly start: () => Promise<Exit.Exit<A, GpuError>>
  /** Frees what `start` created, when the wait ends without the answer: by interruption or loss. */
  readonly abandon?: (() => void) | undefined
}

/** Calls `start` when it is run, and waits for the answer or for the loss of the device. */
export const awaitDevice = <A>(question: Question<A>): Effect.Effect<A, GpuError> =>
  Effect.callback((resume) => Effect.sync(ask(question, resume)))

/** The same, for a promise that only says that something has ended. */
export const awaitEnd = (
  status: DeviceStatus,
  call: string,
  start: () => Promise<unknown>
): Effect.Effect<void, GpuError> => awaitDevice<void>({ status, call, start: () => start().then(() => Exit.void) })

/**
 * Calls `start` in this very step, and `answer` once with its answer or with the loss of the device. Returns the
 * function that gives up.
 */
export const ask = <A>(question: Question<A>, answer: (exit: Exit.Exit<A, GpuError>) => void): () => void => {
  const { call, start, status } = question
  let waiting = true
  let stop = constVoid
  const settle = (exit: Exit.Exit<A, GpuError>): void => {
    if (!waiting) return
    waiting = false
    stop()
    answer(exit)
  }
  const abandon = (): void => {
    if (waiting) question.abandon?.()
  }
  stop = status.onLost((error) => {
    abandon()
    settle(Exit.fail(error))
  })
  if (waiting) start().then(settle, (cause) => settle(Exit.fail(driverError(call, [thrown(cause)], []))))
  return () => {
    abandon()
    waiting = false
    stop()
  }
}
