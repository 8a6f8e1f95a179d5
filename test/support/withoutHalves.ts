/**
 * A runtime without half-precision numbers, as Node 22: `Float16Array` does not exist while the effect runs.
 */
import * as Effect from "effect/Effect"

export const withoutHalves = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const known = Object.getOwnPropertyDescriptor(globalThis, "Float16Array")
      Reflect.deleteProperty(globalThis, "Float16Array")
      return known
    }),
    () => effect,
    (known) =>
      Effect.sync(() => {
        if (known !== undefined) Object.defineProperty(globalThis, "Float16Array", known)
      })
  )
