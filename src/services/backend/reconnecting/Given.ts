/**
 * The program's `onLost` handler.
 *
 * @internal
 */
import * as Effect from "effect/Effect"

/** Runs `onLost`; its failure is logged and affects nothing else. */
export const observed = <R>(
  operation: string,
  device: string,
  onLost: (() => Effect.Effect<unknown, unknown, R>) | undefined
): Effect.Effect<void, never, R> =>
  onLost === undefined ? Effect.void : Effect.suspend(onLost).pipe(
    Effect.ignoreCause({ log: "Warn", message: `onLost of ${operation} failed when ${device} was lost` })
  )
