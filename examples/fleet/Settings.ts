/** What a process of the fleet reads from its environment, and what it says. */
import { FleetStorage } from "@effect-gpu-pool/fleet"
import { PgClient } from "@effect/sql-pg"
import { Config, type Layer, Redacted, Schema } from "effect"
import type { GpuError } from "effect-gpu-pool"
import type { SqlClient, SqlError } from "effect/sql"

/** What all processes have alike. */
export const shared = Config.all({
  secret: Config.Redacted("FLEET_SECRET"),
  /** Where they find each other: a file of SQLite on one machine, or a URL as postgres://user:password@server/database. */
  storage: Config.Redacted("FLEET_STORAGE")
})

/** What each host has for itself. */
export const host = Config.all({
  name: Config.NonEmptyString("FLEET_HOST"),
  /** Where the others reach it. */
  address: Config.NonEmptyString("FLEET_ADDRESS"),
  port: Config.schema(Schema.Port, "FLEET_PORT"),
  /** Where it listens, if its own address is a name that it cannot listen on. */
  listen: Config.option(Config.NonEmptyString("FLEET_LISTEN")),
  /** A selection of devices, as `effect-gpu-pool devices` takes it. */
  device: Config.withDefault(Config.NonEmptyString("FLEET_DEVICE"), "host"),
  /** The bytes of the device that the fleet may reserve. */
  maxBytes: Config.Int("FLEET_MAX_BYTES")
})

export const storageLayer = (
  storage: Redacted.Redacted<string>
): Layer.Layer<SqlClient.SqlClient, GpuError.GpuError | SqlError.SqlError> =>
  /^postgres(?:ql)?:/.test(Redacted.value(storage))
    ? PgClient.layer({ url: storage })
    : FleetStorage.sqlite(Redacted.value(storage))

/** The line that a host writes when it has joined the fleet, for who has started it. */
export const hasJoined = (name: string): string => `host ${name} has joined`
