/** What a test tells a host process. */
import * as Schema from "effect/Schema"

export const HostArguments = Schema.Struct({
  name: Schema.String,
  /** Where the others reach it: at a proxy of the test. */
  port: Schema.Int,
  /** Where it listens. */
  listen: Schema.Int,
  /** The bytes of its device. */
  bytes: Schema.Int,
  /** The file of SQLite, or the URL of a PostgreSQL database. */
  storage: Schema.String,
  secret: Schema.String,
  log: Schema.String,
  /** Milliseconds. */
  timing: Schema.Struct({ heartbeat: Schema.Number, hostTimeout: Schema.Number, brokerTimeout: Schema.Number })
})

export type HostArguments = typeof HostArguments.Type
