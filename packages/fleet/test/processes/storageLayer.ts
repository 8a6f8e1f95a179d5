/** The client of a test's database, in any of its processes. */
import { FleetStorage } from "@effect-gpu-pool/fleet"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"

/** `storage` is the file of SQLite, or the URL of a PostgreSQL database. */
export const storageLayer = (storage: string): Layer.Layer<SqlClient> =>
  storage.startsWith("postgres:")
    ? Layer.orDie(PgClient.layer({ url: Redacted.make(storage) }))
    : Layer.orDie(FleetStorage.sqlite(storage))
