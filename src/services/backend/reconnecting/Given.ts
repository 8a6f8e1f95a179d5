/**
 * The program's observer of losses.
 *
 * @internal
 */
import * as Effect from "effect/Effect"

/** What a program does when it hears of the loss of a device fails nobody else. */
export const observed = <R>(
  operation: string,
  device: string,
  onLost: (() => Effect.Effect<unknown, unknown, R>) | undefined
): Effect.Effect<void, never, R> =>
  onLost === undefined ? Effect.void : Effect.suspend(onLost).pipe(
    Effect.ignoreCause({ log: "Warn", message: `onLost of ${operation} failed when ${device} was lost` })
  )
