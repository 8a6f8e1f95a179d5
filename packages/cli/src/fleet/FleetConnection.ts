/**
 * How the command finds a fleet and is let in: by its storage, and by its secret, which no argument has, because every user of a machine can
 * read the arguments of its programs.
 *
 * @internal
 */
import { line } from "effect-gpu-pool/Format"
import type * as CliError from "effect/cli/CliError"
import * as Flag from "effect/cli/Flag"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import { failing, forUser } from "../Ending.ts"
import { messageOf } from "../Printable.ts"
import { reasonOf } from "../recordings/RecordingInput.ts"

const variables = { storage: "EFFECT_GPU_POOL_FLEET_STORAGE", secret: "EFFECT_GPU_POOL_FLEET_SECRET" }

export const connectionFlags = {
  storage: Flag.String("storage").pipe(
    Flag.withFallbackConfig(Config.String(variables.storage)),
    Flag.withDescription(
      "The fleet's storage, as its hosts have it: a SQLite file, or the address of a PostgreSQL database, postgres://...; without " +
        `it that of the variable ${variables.storage}, where an address with a password belongs`
    )
  ),
  secretFile: Flag.String("secret-file").pipe(
    Flag.optional,
    Flag.withDescription(`The file with the fleet's secret; without it the variable ${variables.secret}`)
  )
}

export interface Connection {
  readonly storage: string
  readonly secretFile: Option.Option<string>
}

/** A secret without the line break at its end that editors and `echo` add. */
const secretIn = (text: string): Redacted.Redacted<string> => Redacted.make(text.replace(/\r?\n$/, ""))

const secretOf = Effect.fnUntraced(function*(file: Option.Option<string>) {
  if (Option.isSome(file)) {
    const text = yield* Effect.mapError(
      FileSystem.FileSystem.use((files) => files.readFileString(file.value)),
      (error) =>
        failing(`${line(file.value)} cannot be read: ${line(reasonOf(error))}. Name another --secret-file.`, error)
    )
    return secretIn(text)
  }
  const given = yield* Effect.orDie(Config.option(Config.Redacted(variables.secret)))
  return Option.isSome(given)
    ? given.value
    : yield* failing(
      `The fleet's secret is missing. Set the variable ${variables.secret}, or name a file that has it: --secret-file FILE.`
    )
})

const isPostgres = (storage: string): boolean => /^postgres(?:ql)?:\/\//.test(storage)

/** Loaded here alone: its cluster takes a third of the time in which any other command starts. */
const loadFleet = Effect.promise(() => import("@effect-gpu-pool/fleet"))

/** The fleet opens any file by making it, and then there is no host. */
const sqlite = (file: string): Layer.Layer<SqlClient, CliError.UserError, FileSystem.FileSystem> =>
  Layer.unwrap(Effect.gen(function*() {
    const { FleetStorage } = yield* loadFleet
    const files = yield* FileSystem.FileSystem
    if (!(yield* Effect.orElseSucceed(files.exists(file), () => false))) {
      return yield* failing(
        `There is no ${
          line(file)
        }. Give the SQLite file of the fleet's hosts, or the address of its PostgreSQL database.`
      )
    }
    return Layer.catchTag(
      FleetStorage.sqlite(file),
      "GpuError",
      (error) => Layer.effectContext(Effect.fail(forUser(error)))
    )
  }))

const missing = (cause: unknown): CliError.UserError =>
  failing(
    `PostgreSQL needs the package @effect/sql-pg, which cannot be loaded: ${line(messageOf(cause))}. ` +
      "npm install @effect/sql-pg, beside this command.",
    cause
  )

/** The error has no address, which can have a password in it. */
const unreachable = (cause: { readonly message: string }): CliError.UserError =>
  failing(
    `The PostgreSQL database does not answer: ${line(reasonOf(cause))}. Check its address, its user and its password.`,
    cause
  )

const postgres = (address: string): Layer.Layer<SqlClient, CliError.UserError> =>
  Layer.unwrap(Effect.map(
    Effect.tryPromise({ try: () => import("@effect/sql-pg/PgClient"), catch: missing }),
    (client) =>
      Layer.catchTag(
        client.layer({ url: Redacted.make(address), applicationName: "effect-gpu-pool fleet" }),
        "SqlError",
        (error) => Layer.effectContext(Effect.fail(unreachable(error)))
      )
  ))

/** A client of the fleet, until the scope closes. */
export const connect = Effect.fn("FleetConnection.connect")(function*({ secretFile, storage }: Connection) {
  const secret = yield* secretOf(secretFile)
  const { Fleet } = yield* loadFleet
  const client = Layer.catchTag(
    Fleet.layerClient({ secret }),
    "GpuError",
    (error) => Layer.effectContext(Effect.fail(forUser(error)))
  )
  const services = yield* Layer.build(Layer.provide(client, isPostgres(storage) ? postgres(storage) : sqlite(storage)))
  return Context.get(services, Fleet.Fleet)
})
