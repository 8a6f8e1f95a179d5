/**
 * What Schemas find in options of layers, which are checked when a layer is built, and in files.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What is wrong, in one line. */
export const problemIn = ({ message }: Schema.SchemaError): string => message.replaceAll(/\s*\n\s*/g, " ")

/** The options, or InvalidRequest where they are not as the Schema says. */
export const checked = <A>(operation: string, schema: Schema.Codec<A>, options: A): Effect.Effect<A, GpuError> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(options),
    (error) => invalidRequest(operation, problemIn(error), "Leave an option out for its default.")
  )
