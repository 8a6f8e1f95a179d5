/**
 * Where the processes of a fleet find each other: a database that all of them reach. Any `SqlClient` of Effect can be it. For
 * PostgreSQL, take `PgClient.layer` of `@effect/sql-pg`.
 *
 * The fleet makes its tables by itself. Their names begin with `gpu_fleet`.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as SqliteClient from "./SqliteClient.ts"
import { storageError } from "./StorageError.ts"

/**
 * A SQLite file, for processes on one machine. Every process gives the same path; the first one makes the file. `":memory:"` is a
 * database of this process alone. Needs `node:sqlite`, which Node has since 22.5.
 *
 * The file must not be on a network file system, whose locks SQLite cannot trust. SQLite's clock in Effect's tables has whole
 * seconds, so a `brokerTimeout` under 3 seconds acts as 3 seconds.
 *
 * Fails with DriverError if the file cannot be opened.
 *
 * **Example** (A client on the same machine as its hosts)
 *
 * ```ts no-run
 * import { FleetStorage } from "@effect-gpu-pool/fleet"
 *
 * const storage = FleetStorage.sqlite("/var/lib/render/fleet.db")
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const sqlite = (file: string): Layer.Layer<SqlClient, GpuError> =>
  Layer.catchTag(
    SqliteClient.layer(file),
    "SqlError",
    (error) => Layer.effect(SqlClient, Effect.fail(storageError("open", error, openHint)))
  )

const openHint = "Check the path, that its folder exists, and that this process may write there."
