/**
 * The options of layers, which are checked when a layer is built.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The options, or InvalidRequest where they are not as the Schema says. */
export const checked = <A>(operation: string, schema: Schema.Codec<A>, options: A): Effect.Effect<A, GpuError> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(options),
    ({ message }) => invalidRequest(operation, message, "Leave an option out for its default.")
  )
