/**
 * A `SqlClient` of Effect for a SQLite file, through `node:sqlite`. Effect's own package for it is not there for Effect 4 yet.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"

/** How many statements stay compiled: more than the storages of a cluster have. */
const mostStatements = 256

/**
 * How a statement waits for the lock of another process. SQLite itself would wait in a blocking call, and no other fiber could run.
 */
const lockRetries = Schedule.spaced("5 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))

const attempt = <A>(operation: string, message: () => string, run: () => A): Effect.Effect<A, SqlError> =>
  Effect.try({ try: run, catch: (cause) => sqlError(cause, operation, message()) })

const sqlError = (cause: unknown, operation: string, message: string): SqlError => {
  // `node:sqlite` has the number of SQLite in `errcode`; the classification reads `errno`.
  const numbered = cause instanceof Error && "errcode" in cause ? Object.assign(cause, { errno: cause.errcode }) : cause
  return new SqlError({ reason: classifySqliteError(numbered, { message, operation }) })
}

/** What SQLite takes for a parameter. */
const input = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0
    case "undefined":
      return null
    case "string":
    case "number":
    case "bigint":
      return value
    default:
      if (value === null || value instanceof Uint8Array) return value
      if (value instanceof Date) return value.toISOString()
      throw new TypeError(`SQLite has no such parameter: ${typeof value}`)
  }
}

interface SqliteConnection extends Connection {
  readonly isInTransaction: () => boolean
}

type Rows = ReadonlyArray<Record<string, unknown>>
type Values = ReadonlyArray<ReadonlyArray<unknown>>

// A statement that is compiled keeps this setting.
const rows = (statement: StatementSync, inputs: ReadonlyArray<SQLInputValue>): Rows => {
  statement.setReturnArrays(false)
  return statement.all(...inputs)
}
const values = (statement: StatementSync, inputs: ReadonlyArray<SQLInputValue>): Values => {
  statement.setReturnArrays(true)
  // Its type does not know the setting.
  return statement.all(...inputs) as unknown as Values
}
const raw = (statement: StatementSync, inputs: ReadonlyArray<SQLInputValue>): unknown =>
  statement.columns().length > 0 ? rows(statement, inputs) : statement.run(...inputs)

const transformed = (
  result: Effect.Effect<Rows, SqlError>,
  transformRows: Parameters<Connection["execute"]>[2]
): Effect.Effect<Rows, SqlError> => transformRows === undefined ? result : Effect.map(result, transformRows)

const connection = (db: DatabaseSync): SqliteConnection => {
  const compiled = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const statement = compiled.get(sql) ?? db.prepare(sql)
    // The most recently used is the last.
    compiled.delete(sql)
    compiled.set(sql, statement)
    if (compiled.size > mostStatements) compiled.delete(compiled.keys().next().value!)
    return statement
  }

  const run = <A>(
    prepare: (sql: string) => StatementSync,
    sql: string,
    params: ReadonlyArray<unknown>,
    use: (statement: StatementSync, inputs: ReadonlyArray<SQLInputValue>) => A
  ): Effect.Effect<A, SqlError> =>
    Effect.flatMap(SqlClient.SafeIntegers, (isSafe) => {
      const once = attempt("execute", () => `SQLite could not run: ${sql.trim().replaceAll(/\s+/g, " ")}`, () => {
        const statement = prepare(sql)
        statement.setReadBigInts(isSafe)
        return use(statement, params.map(input))
      })
      return Effect.retry(once, {
        schedule: lockRetries,
        // Within a transaction the locks are there already, and a statement could not be repeated alone.
        while: (error) => error.reason._tag === "LockTimeoutError" && !db.isTransaction
      })
    })

  const fresh = (sql: string): StatementSync => db.prepare(sql)
  return identity<SqliteConnection>({
    isInTransaction: () => db.isTransaction,
    execute: (sql, params, transformRows) => transformed(run(prepared, sql, params, rows), transformRows),
    executeRaw: (sql, params) => run(prepared, sql, params, raw),
    executeValues: (sql, params) => run(prepared, sql, params, values),
    executeValuesUnprepared: (sql, params) => run(fresh, sql, params, values),
    executeUnprepared: (sql, params, transformRows) => transformed(run(fresh, sql, params, rows), transformRows),
    executeStream: (sql, params, transformRows) =>
      Stream.fromIterableEffect(transformed(run(prepared, sql, params, rows), transformRows))
  })
}

/** Built in, but loaded here only: runtimes without it can use the rest of the package. */
const loadSqlite = attempt(
  "connect",
  () => "This runtime has no module node:sqlite. Use Node 22.19 or newer.",
  () => process.getBuiltinModule("node:sqlite").DatabaseSync
)

const open = (file: string): Effect.Effect<DatabaseSync, SqlError, Scope.Scope> =>
  Effect.flatMap(loadSqlite, (Database) =>
    Effect.acquireRelease(
      attempt("connect", () => `SQLite could not open ${file}`, () => new Database(file, { timeout: 0 })),
      (db) => Effect.sync(() => db.close())
    ))

const make = Effect.fnUntraced(function*(
  file: string
): Effect.fn.Return<SqlClient.SqlClient, SqlError, Scope.Scope | Reactivity.Reactivity> {
  const db = yield* open(file)
  const one = connection(db)
  // With a write-ahead log, who reads never waits for who writes.
  yield* one.executeUnprepared("PRAGMA journal_mode = WAL", [], undefined)
  yield* one.executeUnprepared("PRAGMA synchronous = NORMAL", [], undefined)
  const { acquirer, borrower, isTransaction, onCommitFailure, transactionAcquirer } = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(one),
    semaphore: yield* Semaphore.make(1),
    isTransaction: (connection) => connection.isInTransaction()
  })
  return yield* SqlClient.make({
    acquirer,
    borrower,
    transactionAcquirer,
    onCommitFailure,
    isTransaction,
    compiler: Statement.makeCompilerSqlite(),
    driver: "sqlite-node",
    // Takes the lock for writing at once: a transaction that reads first and writes later could not wait for it.
    beginTransaction: "BEGIN IMMEDIATE",
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    prepareTransactionControls: true,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

/** A client of this file, or of a database in memory for `":memory:"`. */
export const layer = (file: string): Layer.Layer<SqlClient.SqlClient, SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(file)).pipe(Layer.provide(Reactivity.layer))
