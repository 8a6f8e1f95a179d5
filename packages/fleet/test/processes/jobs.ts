/** What the hosts of the tests run. */
import { FleetJob, type FleetModel } from "@effect-gpu-pool/fleet"
import * as Schema from "effect/Schema"

const input = Schema.Struct({
  id: Schema.String,
  bytes: Schema.Int,
  /** How long its device takes, in milliseconds. */
  millis: Schema.Number,
  /** Its only host, if it has one. */
  host: Schema.optionalKey(Schema.String)
})

export type Input = typeof input.Type

const output = Schema.Struct({ id: Schema.String, host: Schema.String, epoch: Schema.Number })

export type Output = typeof output.Type

const where = ({ host }: Input): FleetModel.Where => host === undefined ? {} : { host }

/** May run again. */
export const Repeatable = FleetJob.make("Repeatable", {
  input,
  output,
  bytes: ({ bytes }) => bytes,
  where,
  isIdempotent: true
})

/** Must not run twice. */
export const Once = FleetJob.make("Once", { input, output, bytes: ({ bytes }) => bytes, where })
