/**
 * Whether the operations of an effect are only recorded, and where.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** An effect whose elementwise operations are only recorded. */
export interface Region {
  /** Whether its commands are traced, and not run. Then its arrays have no memory, and those of other regions no meaning in it. */
  readonly isTraced: boolean
}

/** The region around an effect; `undefined` where operations run at once. */
export const Recording: Context.Reference<Region | undefined> = Context.Reference<Region | undefined>(
  "effect-gpu-pool/DeviceArray/Recording",
  { defaultValue: () => undefined }
)

const untraced: Region = { isTraced: false }

/** Records the operations of an effect, in the region around it or in a new one. */
export const recording = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    fiber.getRef(Recording) === undefined ? Effect.provideService(effect, Recording, untraced) : effect
  )
