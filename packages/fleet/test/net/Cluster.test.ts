/** Processes of a fleet find each other: hosts and clients over sockets and a SQLite file, here within one process. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Entity from "effect/cluster/Entity"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Runners from "effect/cluster/Runners"
import { ShardingConfig } from "effect/cluster/ShardingConfig"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcClient from "effect/rpc/RpcClient"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import * as Cluster from "../../src/net/Cluster.ts"
import * as FleetStorage from "../../src/net/FleetStorage.ts"
import { HostRpcs } from "../../src/protocol/HostRpcs.ts"
import * as Timing from "../../src/protocol/Timing.ts"
import { secret, until } from "../support/servedCalls.ts"
import { temporaryFolder } from "../support/temporary.ts"

/** Hosts see each other after a few milliseconds; nobody is taken for dead. */
const timing = Effect.runSync(Timing.make({ heartbeat: 20, brokerTimeout: "1 minute", hostTimeout: "2 minutes" }))

const Where = Entity.make("Where", [Rpc.make("Port", { success: Schema.Number })])

/** The port that a process of the fleet has. */
const portOf = (context: Context.Context<ShardingConfig>): number =>
  Option.match(Context.get(context, ShardingConfig).runnerAddress, {
    onNone: () => 0,
    onSome: (address: RunnerAddress.RunnerAddress) => address.port
  })

const handlersOf = (held: Stream.Stream<"granted">, read: Stream.Stream<Uint8Array>) =>
  HostRpcs.toLayer({
    Hold: () => held,
    Read: () => read,
    Run: () => Stream.empty,
    Send: () => Effect.void,
    Allocate: () => Effect.void,
    Write: () => Effect.void,
    Free: () => Effect.void
  })

/** A host at a free port, whose entity and whose calls answer the port. `held` counts reservations at the host. */
const host = Effect.fnUntraced(function*(file: string) {
  const state = { held: 0 }
  const held = Stream.unwrap(Effect.as(
    Effect.acquireRelease(Effect.sync(() => void state.held++), () => Effect.sync(() => void state.held--)),
    Stream.concat(Stream.make("granted" as const), Stream.never)
  ))
  const handlers = handlersOf(held, Stream.make(new Uint8Array([1]), new Uint8Array([2])))
  const entity = Where.toLayer(
    Effect.map(ShardingConfig, ({ runnerAddress }) => {
      const port = Option.getOrThrow(runnerAddress).port
      return { Port: () => Effect.succeed(port) }
    })
  )
  const layer = Layer.provideMerge(
    entity,
    Cluster.layerRunner("host", { address: { host: "127.0.0.1", port: 0 }, secret, timing })
  )
  const context = yield* Layer.build(
    layer.pipe(Layer.provide(handlers), Layer.provide(FleetStorage.sqlite(file)))
  )
  return { port: portOf(context), state }
})

const client = (file: string) =>
  Layer.build(Cluster.layerClient("client", { secret, timing }).pipe(Layer.provide(FleetStorage.sqlite(file))))

const file = Effect.map(temporaryFolder, (folder) => join(folder, "fleet.db"))

describe("a cluster", () => {
  it.live("answers clients through an entity, and moves it when its host ends", () => {
    const logged: Array<unknown> = []
    return Effect.gen(function*() {
      const path = yield* file
      const scopes = [yield* Scope.make(), yield* Scope.make()]
      const hosts = yield* Effect.forEach(scopes, (scope) => Scope.provide(host(path), scope))
      const ports = hosts.map(({ port }) => port)
      const where = yield* Effect.provide(Where.client, yield* client(path))
      // Entities are on both.
      const all = new Set<number>()
      yield* until(Effect.gen(function*() {
        for (let n = 0; n < 20; n++) all.add(yield* Effect.orDie(where(String(n)).Port()))
        return all.size === 2
      }))
      deepStrictEqual([...all].sort(), [...ports].sort())
      yield* Scope.close(scopes[0]!, Exit.void)
      for (let n = 0; n < 20; n++) strictEqual(yield* where(String(n)).Port(), ports[1])
      yield* Scope.close(scopes[1]!, Exit.void)
      deepStrictEqual(logged, [])
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
  })

  it.live("has a direct way to a host, and an interruption arrives there", () =>
    Effect.gen(function*() {
      const path = yield* file
      const { port, state } = yield* host(path)
      const protocols = Context.get(yield* client(path), Runners.RpcClientProtocol)
      const protocol = yield* protocols.make(RunnerAddress.make("127.0.0.1", port))
      const calls = yield* Effect.provideService(RpcClient.make(HostRpcs), RpcClient.Protocol, protocol)
      const read = calls.Read({ lease: "a", epoch: 1, buffer: "b", offset: 0, length: 2 })
      deepStrictEqual((yield* Stream.runCollect(read)).map((bytes) => [...bytes]), [[1], [2]])
      const hold = calls.Hold({ id: "a", device: "0", bytes: 1, epoch: 1 })
      deepStrictEqual(yield* Stream.runCollect(Stream.take(hold, 1)), ["granted"])
      yield* until(Effect.sync(() => state.held === 0))
      const held = yield* Effect.forkChild(Stream.runDrain(hold))
      yield* until(Effect.sync(() => state.held === 1))
      yield* Fiber.interrupt(held)
      yield* until(Effect.sync(() => state.held === 0))
    }))
})

/** The error of a client's layer on this database. */
const failed = (sql: SqlClient.SqlClient) =>
  Cluster.layerClient("Fleet.layerClient", { secret, timing }).pipe(
    Layer.provide(Layer.succeed(SqlClient.SqlClient)(sql)),
    Layer.build,
    Effect.flip,
    Effect.scoped
  )

const database = Effect.map(Layer.build(FleetStorage.sqlite(":memory:")), Context.get(SqlClient.SqlClient))

describe("a process that cannot join fails", () => {
  it.live("without a database that answers", () =>
    Effect.gen(function*() {
      const { message, reason } = yield* failed(yield* Effect.scoped(database))
      strictEqual(reason._tag, "DriverError")
      assert.match(
        message,
        /fleet storage: ask the database failed: .*database is not open.*Check that the database is there/
      )
    }))

  it.live("without the right to make tables", () =>
    Effect.gen(function*() {
      const sql = yield* database
      yield* sql`CREATE TABLE taken (id INTEGER)`
      yield* sql`CREATE INDEX gpu_fleet_locks ON taken (id)`
      const { message, reason } = yield* failed(sql)
      strictEqual(reason._tag, "DriverError")
      assert.match(message, /make the tables of the fleet failed: .*already an index named gpu_fleet_locks/)
    }))

  it.live("without a secret, and at a port that is taken", () =>
    Effect.gen(function*() {
      const path = yield* file
      const { port } = yield* host(path)
      const attempt = (options: { readonly secret?: Redacted.Redacted<string>; readonly port: number }) =>
        Cluster.layerRunner("Fleet.layerHost", {
          address: { host: "127.0.0.1", port: options.port },
          secret: options.secret ?? secret,
          timing
        }).pipe(
          Layer.provide(handlersOf(Stream.never, Stream.empty)),
          Layer.provide(FleetStorage.sqlite(path)),
          Layer.build,
          Effect.flip,
          Effect.map(({ message }) => message),
          Effect.scoped
        )
      assert.match(yield* attempt({ port: 0, secret: Redacted.make("") }), /Fleet.layerHost: secret is empty/)
      assert.match(yield* attempt({ port }), /Fleet.layerHost: it cannot listen on port .* EADDRINUSE/)
    }))
})
