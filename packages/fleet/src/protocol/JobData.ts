/**
 * Inputs, outputs and errors of jobs as bytes, for the way to another process.
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as SchemaBinary from "effect/encoding/SchemaBinary"
import * as Schema from "effect/Schema"

/**
 * A schema that needs no services.
 *
 * @category models
 * @since 0.1.0
 */
export type JobSchema<A = unknown> = Schema.Codec<A, unknown>

const problem = (what: string) => ({ message }: Schema.SchemaError): GpuError =>
  invalidRequest(
    "Fleet.run",
    `${what} is not as its schema says: ${message.replaceAll(/\s*\n\s*/g, " ")}`,
    "Give the program and the hosts the same job, with schemas of its values."
  )

/** The bytes of a value. */
export const encode = <A>(what: string, schema: JobSchema<A>, value: A): Effect.Effect<Uint8Array, GpuError> =>
  Schema.encodeEffect(SchemaBinary.toCodec(schema))(value).pipe(
    // The codec's bytes may be a view of memory that it uses again.
    Effect.map((bytes) => bytes.slice()),
    Effect.mapError(problem(what))
  )

/** The value of such bytes. */
export const decode = <A>(what: string, schema: JobSchema<A>, bytes: Uint8Array): Effect.Effect<A, GpuError> =>
  Effect.mapError(Schema.decodeUnknownEffect(SchemaBinary.toCodec(schema))(bytes), problem(what))
