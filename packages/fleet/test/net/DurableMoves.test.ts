/** A durable job whose driver ends while the shard of the job is on its way to a host that has joined. */
import { DurableJob, Fleet, FleetJob } from "@effect-gpu-pool/fleet"
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPools from "effect-gpu-pool/BufferPools"
import * as Host from "effect-gpu-pool/Host"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { join } from "node:path"
import { executionIdOf } from "../../src/durable/JobWorkflow.ts"
import * as FleetStorage from "../../src/net/FleetStorage.ts"
import { durableShards } from "../../src/net/ShardingTimes.ts"
import { freePorts } from "../processes/Proxy.ts"
import { secret, until } from "../support/servedCalls.ts"
import { addressOf, assigned, held, shardOf } from "../support/shards.ts"
import { temporaryFolder } from "../support/temporary.ts"

/** Hosts see each other after a few milliseconds, and none counts as lost while the test runs. */
const timing = { heartbeat: 20, brokerTimeout: "1 minute", hostTimeout: "2 minutes" } as const

/** Must not run twice. */
const Wait = FleetJob.make("Wait", {
  input: Schema.Int,
  output: Schema.Int,
  bytes: 4,
  where: () => ({ host: "runner" })
})

/** Ports of a driver, of a host that is there too, and of one that joins and gets a durable shard of the driver. */
const portsThatMove: Effect.Effect<readonly [driver: number, runner: number, joining: number, shard: string]> = Effect
  .flatMap(freePorts(3), ([driver, runner, joining]) => {
    const later = assigned([driver!, runner!, joining!])
    for (const [shard, address] of assigned([driver!, runner!])) {
      if (!shard.startsWith(durableShards) || address !== addressOf(driver!)) continue
      if (later.get(shard) === addressOf(joining!)) return Effect.succeed([driver!, runner!, joining!, shard] as const)
    }
    return portsThatMove
  })

/** An identifier of a job whose shard it is. */
const idIn = Effect.fnUntraced(function*(shard: string) {
  for (let n = 0;; n++) {
    if (shardOf(durableShards, yield* executionIdOf(Wait.name, String(n))) === shard) return String(n)
  }
})

describe("a host that ends", () => {
  it.live("lets a durable job end whose shard moves to another host", () =>
    Effect.gen(function*() {
      const storage = FleetStorage.sqlite(join(yield* temporaryFolder, "fleet.db"))
      const sql = Context.get(yield* Layer.build(Layer.fresh(storage)), SqlClient)
      const begun = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const wait = FleetJob.handler(
        Wait,
        (x) => Deferred.succeed(begun, undefined).pipe(Effect.andThen(Deferred.await(gate)), Effect.as(x))
      )
      /** Starts a host, and answers the scope that it ends with. */
      const start = Effect.fnUntraced(function*(host: string, port: number) {
        const scope = yield* Scope.fork(yield* Effect.scope)
        const address = { host: "127.0.0.1", port }
        yield* Fleet.layerHost({ host, address, devices: { "0": { maxBytes: 4096 } }, jobs: [wait], secret, timing })
          .pipe(
            Layer.provide(BufferPools.layer(() => Host.layer())),
            Layer.provide(storage),
            Layer.fresh,
            Layer.buildWithScope(scope)
          )
        return scope
      })
      const [driverPort, runnerPort, joiningPort, shard] = yield* portsThatMove
      const driver = yield* start("driver", driverPort)
      yield* start("runner", runnerPort)
      yield* until(Effect.map(held(sql), (addresses) => addresses.get(shard) === addressOf(driverPort)))
      const client = yield* Layer.build(Layer.fresh(Layer.provide(Fleet.layerClient({ secret, timing }), storage)))
      const jobs = Context.get(client, DurableJob.DurableJobs)
      const waiting = yield* Effect.forkChild(jobs.execute(Wait, 7, { id: yield* idIn(shard) }))
      yield* Deferred.await(begun)

      yield* start("joining", joiningPort)
      // Both groups have the same shards at a host. The driver lets go of them in one step, and nothing runs in the other one.
      const twin = shard.replace(durableShards, "default")
      yield* until(Effect.map(held(sql), (addresses) => addresses.get(twin) === addressOf(joiningPort)))
      strictEqual((yield* held(sql)).get(shard), addressOf(driverPort))
      const closing = yield* Effect.forkChild(Scope.close(driver, Exit.void))
      const state = Context.get(client, Fleet.Fleet).status.pipe(
        Effect.map(({ hosts }) => hosts.find(({ name }) => name === "driver")?.state),
        Effect.orDie
      )
      yield* until(Effect.map(state, (now) => now === "draining" || closing.pollUnsafe() !== undefined))
      // It ends as far as it ends while the job waits.
      for (let n = 0; n < 100; n++) yield* state
      deepStrictEqual([closing.pollUnsafe(), waiting.pollUnsafe()], [undefined, undefined])
      yield* Deferred.succeed(gate, undefined)
      strictEqual(yield* Fiber.join(waiting), 7)
      yield* Fiber.join(closing)
    }))
})
