/** SQLite as a storage of several processes: types, transactions, locks, errors, and Effect's own storages on it. */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { MachineId } from "effect/cluster/MachineId"
import * as Runner from "effect/cluster/Runner"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as ShardId from "effect/cluster/ShardId"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlMessageStorage from "effect/cluster/SqlMessageStorage"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import * as FleetStorage from "../../src/net/FleetStorage.ts"
import { temporaryFolder } from "../support/temporary.ts"

const opened = (file: string) => Effect.map(Layer.build(FleetStorage.sqlite(file)), Context.get(SqlClient.SqlClient))

/** A client of a new file that has a table of texts. */
const withTable = Effect.gen(function*() {
  const file = join(yield* temporaryFolder, "fleet.db")
  const sql = yield* opened(file)
  yield* sql`CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL)`
  return { file, sql }
})

const texts = (sql: SqlClient.SqlClient) =>
  Effect.map(sql`SELECT text FROM texts ORDER BY id`.values, (rows) => rows.map(([text]) => text))

describe("values", () => {
  it.effect("come back as they were written, bytes among them", () =>
    Effect.gen(function*() {
      const sql = yield* opened(":memory:")
      yield* sql`CREATE TABLE kinds (a INTEGER, b TEXT, c BLOB, d REAL, e TEXT, f INTEGER, g TEXT)`
      const row = { a: 7, b: "it's", c: new Uint8Array([0, 255]), d: 0.5, e: null }
      yield* sql`INSERT INTO kinds ${sql.insert({ ...row, f: true, g: new Date(0) })}`
      const [found] = yield* sql`SELECT * FROM kinds`
      deepStrictEqual({ ...found }, { ...row, f: 1, g: "1970-01-01T00:00:00.000Z" })
    }))

  it.effect("beyond 2 ** 53 are exact when the caller asks for bigints", () =>
    Effect.gen(function*() {
      const sql = yield* opened(":memory:")
      const large = sql<{ n: bigint }>`SELECT ${2n ** 60n} AS n`
      const [found] = yield* Effect.provideService(large, SqlClient.SafeIntegers, true)
      strictEqual(found?.n, 2n ** 60n)
      // A statement that is compiled already reads numbers again.
      deepStrictEqual(yield* sql`SELECT ${3} AS n`.values, [[3]])
      strictEqual((yield* Effect.flip(large)).reason._tag, "UnknownError")
    }))

  it.effect("come as rows, as arrays and as a stream from one statement", () =>
    Effect.gen(function*() {
      const { sql } = yield* withTable
      yield* sql`INSERT INTO texts ${sql.insert([{ text: "a" }, { text: "b" }])}`
      const all = sql<{ text: string }>`SELECT text FROM texts ORDER BY id`
      deepStrictEqual((yield* all).map(({ text }) => text), ["a", "b"])
      deepStrictEqual(yield* all.values, [["a"], ["b"]])
      deepStrictEqual((yield* all).map(({ text }) => text), ["a", "b"])
      deepStrictEqual((yield* Stream.runCollect(all.stream)).map(({ text }) => text), ["a", "b"])
      deepStrictEqual((yield* all.unprepared).length, 2)
      // What changes rows answers how many.
      assert.include(yield* sql`DELETE FROM texts`.raw, { changes: 2 })
    }))

  it.effect("of more statements than stay compiled", () =>
    Effect.gen(function*() {
      const sql = yield* opened(":memory:")
      for (const round of [0, 1]) {
        for (let n = 0; n < 300; n++) {
          deepStrictEqual(yield* sql`SELECT ${sql.literal(String(n))} + ${round}`.values, [[n + round]])
        }
      }
    }))
})

describe("transactions", () => {
  it.effect("roll back as a whole when they fail", () =>
    Effect.gen(function*() {
      const { sql } = yield* withTable
      const insert = (text: string) => sql`INSERT INTO texts ${sql.insert({ text })}`
      yield* insert("before")
      const failed = insert("in it").pipe(Effect.andThen(insert("before")), sql.withTransaction)
      strictEqual((yield* Effect.flip(failed)).reason._tag, "UniqueViolation")
      deepStrictEqual(yield* texts(sql), ["before"])
      yield* insert("after")
      deepStrictEqual(yield* texts(sql), ["before", "after"])
    }))

  it.effect("within one another roll back alone", () =>
    Effect.gen(function*() {
      const { sql } = yield* withTable
      const insert = (text: string) => sql`INSERT INTO texts ${sql.insert({ text })}`
      const inner = insert("inner").pipe(Effect.andThen(Effect.fail("stop")), sql.withTransaction)
      yield* insert("outer").pipe(Effect.andThen(Effect.flip(inner)), sql.withTransaction)
      deepStrictEqual(yield* texts(sql), ["outer"])
    }))

  it.effect("keep other fibers of the client out", () =>
    Effect.gen(function*() {
      const { sql } = yield* withTable
      const latch = yield* Latch.make()
      const insert = (text: string) => sql`INSERT INTO texts ${sql.insert({ text })}`
      const transaction = insert("first").pipe(
        Effect.andThen(latch.await),
        Effect.andThen(Effect.fail("stop")),
        sql.withTransaction
      )
      const failing = yield* Effect.forkChild(Effect.flip(transaction), { startImmediately: true })
      const other = yield* Effect.forkChild(insert("second"), { startImmediately: true })
      strictEqual(other.pollUnsafe(), undefined)
      yield* latch.open
      yield* Fiber.join(failing)
      yield* Fiber.join(other)
      deepStrictEqual(yield* texts(sql), ["second"])
    }))
})

/** Someone who has the lock for writing until the latch opens. */
const writing = (sql: SqlClient.SqlClient, latch: Latch.Latch) =>
  Effect.forkChild(
    sql`INSERT INTO texts ${sql.insert({ text: "of the first" })}`.pipe(
      Effect.andThen(latch.await),
      sql.withTransaction
    ),
    { startImmediately: true }
  )

describe("two clients of one file", () => {
  it.effect("write one after the other, and read meanwhile", () =>
    Effect.gen(function*() {
      const { file, sql } = yield* withTable
      const latch = yield* Latch.make()
      const first = yield* writing(sql, latch)
      const other = yield* opened(file)
      const second = yield* Effect.forkChild(other`INSERT INTO texts ${other.insert({ text: "of the second" })}`)
      const third = yield* Effect.forkChild(other.withTransaction(other`DELETE FROM texts WHERE id = 0`))
      yield* TestClock.adjust("1 second")
      strictEqual(second.pollUnsafe(), undefined)
      deepStrictEqual(yield* texts(yield* opened(file)), [])
      yield* latch.open
      yield* Fiber.join(first)
      yield* TestClock.adjust("5 millis")
      yield* Fiber.join(second)
      yield* Fiber.join(third)
      deepStrictEqual(yield* texts(other), ["of the first", "of the second"])
    }))

  it.effect("give up after 5 seconds, with the error of a lock", () =>
    Effect.gen(function*() {
      const { file, sql } = yield* withTable
      const latch = yield* Latch.make()
      const first = yield* writing(sql, latch)
      const other = yield* opened(file)
      const statement = yield* Effect.forkChild(Effect.flip(other`DELETE FROM texts`))
      yield* TestClock.adjust("4900 millis")
      strictEqual(statement.pollUnsafe(), undefined)
      yield* TestClock.adjust("200 millis")
      strictEqual((yield* Fiber.join(statement)).reason._tag, "LockTimeoutError")
      const transaction = yield* Effect.forkChild(Effect.flip(other.withTransaction(other`DELETE FROM texts`)))
      yield* TestClock.adjust("6 seconds")
      strictEqual((yield* Fiber.join(transaction)).reason._tag, "LockTimeoutError")
      yield* latch.open
      yield* Fiber.join(first)
      deepStrictEqual(yield* texts(other), ["of the first"])
    }))

  it.effect("leave one file behind", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = join(folder, "fleet.db")
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* opened(file)
        yield* sql`CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)`
        yield* opened(file)
        deepStrictEqual(readdirSync(folder).sort(), ["fleet.db", "fleet.db-shm", "fleet.db-wal"])
      }))
      deepStrictEqual(readdirSync(folder), ["fleet.db"])
    }))
})

describe("errors", () => {
  it.effect("of statements are those of SQL, by their kind", () =>
    Effect.gen(function*() {
      const { sql } = yield* withTable
      const kindOf = (text: string, ...params: ReadonlyArray<unknown>) =>
        Effect.map(Effect.flip(sql.unsafe(text, params)), ({ reason }) => reason._tag)
      strictEqual(yield* kindOf("SELEC"), "UnknownError")
      strictEqual(yield* kindOf("INSERT INTO texts (text) VALUES (NULL)"), "ConstraintError")
      yield* sql`INSERT INTO texts ${sql.insert({ text: "a" })}`
      strictEqual(yield* kindOf("INSERT INTO texts (text) VALUES (?)", "a"), "UniqueViolation")
      strictEqual(yield* kindOf("SELECT ?", {}), "UnknownError")
    }))

  it.effect("of a file that cannot be opened name it, and say what to check", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const error = yield* Effect.flip(opened(join(folder, "missing", "fleet.db")))
      strictEqual(error.reason._tag, "DriverError")
      assert.match(error.message, /fleet storage: open failed: .*missing\/fleet.db.*unable to open.*Check the path/)
    }))
})

/** Effect's storages of one process on the file. */
const storages = (file: string, expiration: number) =>
  Layer.build(
    Layer.merge(
      SqlRunnerStorage.layerWith({ prefix: "tested" }),
      SqlMessageStorage.layerWith({ prefix: "tested" }).pipe(Layer.provide(NodeCrypto.layerDigest))
    ).pipe(
      Layer.provideMerge(ShardingConfig.layer({ shardLockExpiration: expiration, shardsPerGroup: 2 })),
      Layer.provide(FleetStorage.sqlite(file))
    )
  )

const runner = (port: number) =>
  new Runner.Runner({ address: RunnerAddress.make("127.0.0.1", port), groups: ["default"], weight: 1 })

const one = runner(1)
const two = runner(2)
const shards = [ShardId.make("default", 1), ShardId.make("default", 2)]

const ofShards = (found: ReadonlyArray<ShardId.ShardId>) => found.map(({ id }) => id).sort()

/** Sets back the time of the first shard's lock, as if its runner had been silent for so long. */
const silentFor = (sql: SqlClient.SqlClient, seconds: number) =>
  Effect.andThen(
    sql`UPDATE tested_locks SET acquired_at = datetime(CURRENT_TIMESTAMP, ${`-${seconds} seconds`}) WHERE shard_id = 'default:1'`,
    Effect.void
  )

describe("Effect's storages", () => {
  it.effect("are made once by several processes at once", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryFolder, "fleet.db")
      const fibers = yield* Effect.forEach([1, 2, 3, 4], () => Effect.forkScoped(storages(file, 2000)))
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(fibers, Fiber.join)
      const sql = yield* opened(file)
      const tables = yield* sql`SELECT name FROM sqlite_master WHERE name LIKE 'tested%' AND type = 'table'`.values
      deepStrictEqual(tables.flat().sort(), [
        "tested_locks",
        "tested_messages",
        "tested_migrations",
        "tested_replies",
        "tested_runner_migrations",
        "tested_runners"
      ])
    }))

  it.effect("give a shard to one runner, and to another when the first is silent", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryFolder, "fleet.db")
      const first = Context.get(yield* storages(file, 2000), RunnerStorage.RunnerStorage)
      const second = Context.get(yield* storages(file, 2000), RunnerStorage.RunnerStorage)
      const ids = [yield* first.register(one, true), yield* second.register(two, true)]
      deepStrictEqual(ids, [MachineId.make(1), MachineId.make(2)])
      deepStrictEqual((yield* second.getRunners).map(([{ address }]) => address.port), [1, 2])
      deepStrictEqual(ofShards(yield* first.acquire(one.address, shards)), [1, 2])
      deepStrictEqual(ofShards(yield* second.acquire(two.address, shards)), [])
      yield* silentFor(yield* opened(file), 4)
      deepStrictEqual(ofShards(yield* second.acquire(two.address, shards)), [1])
      deepStrictEqual(ofShards(yield* first.refresh(one.address, shards)), [2])
      yield* first.releaseAll(one.address)
      deepStrictEqual(ofShards(yield* second.acquire(two.address, shards)), [1, 2])
      yield* first.setRunnerHealth(two.address, false)
      deepStrictEqual((yield* first.getRunners).map(([, healthy]) => healthy), [true, false])
    }))
})
