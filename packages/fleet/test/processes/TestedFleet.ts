/** A fleet of host processes, each behind a proxy, and what a test does to them. */
import { DurableJob, Fleet } from "@effect-gpu-pool/fleet"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import { join } from "node:path"
import { executionIdOf } from "../../src/durable/JobWorkflow.ts"
import { durableShards } from "../../src/net/ShardingTimes.ts"
import { addressOf, assigned, held, shardOf } from "../support/shards.ts"
import { temporaryFolder } from "../support/temporary.ts"
import type { HostArguments } from "./HostArguments.ts"
import * as HostLog from "./HostLog.ts"
import * as HostProcess from "./HostProcess.ts"
import * as Proxy from "./Proxy.ts"
import { storageLayer } from "./storageLayer.ts"

export interface Options {
  /** As `storageLayer` takes it. */
  readonly storage: string
  readonly timing: HostArguments["timing"]
  /** The bytes of each host. */
  readonly capacities: Readonly<Record<string, number>>
  /** Whether the others reach each host by a proxy, in the test's process. */
  readonly isProxied: boolean
}

export interface TestedHost {
  readonly name: string
  readonly bytes: number
  readonly proxy: Proxy.Proxy
  /** Its process, of which there may have been others before. */
  process: HostProcess.HostProcess
  /** Starts another process, after the one before has ended. */
  readonly restart: Effect.Effect<void>
  readonly log: () => ReadonlyArray<HostLog.Line>
}

const secret = "of a test"

export const make = Effect.fnUntraced(function*({ capacities, isProxied, storage, timing }: Options) {
  const folder = yield* temporaryFolder
  const scope = yield* Effect.scope
  const hosts = yield* Effect.forEach(Object.entries(capacities), ([name, bytes]) =>
    Effect.gen(function*() {
      const [listen] = yield* Proxy.freePorts(1)
      const proxy = isProxied ? yield* Proxy.make(listen!) : Proxy.none(listen!)
      const log = join(folder, `${name}.log`)
      const start = HostProcess.start({ name, port: proxy.port, listen: listen!, bytes, storage, secret, log, timing })
      const host: TestedHost = {
        name,
        bytes,
        proxy,
        process: yield* start,
        restart: Effect.gen(function*() {
          yield* host.process.ended
          host.process = yield* Scope.provide(start, scope)
        }),
        log: () => HostLog.read(log)
      }
      return host
    }))
  /** A program of its own that uses the fleet. */
  const program = Layer.build(
    Layer.provide(Fleet.layerClient({ secret: Redacted.make(secret), timing }), storageLayer(storage))
  )
  const client = Effect.map(program, Context.get(Fleet.Fleet))
  const observer = yield* client
  const sql = Context.get(yield* Layer.build(storageLayer(storage)), SqlClient.SqlClient)
  /** The host that has the shard of an entity. */
  const hostOf = (group: string, entity: string) =>
    Effect.map(held(sql), (addresses) => {
      const address = addresses.get(shardOf(group, entity))
      return hosts.find(({ proxy }) => addressOf(proxy.port) === address)
    })
  const all = assigned(hosts.map(({ proxy }) => proxy.port))
  const isSettled = Effect.map(
    held(sql),
    (addresses) => [...all].every(([shard, address]) => addresses.get(shard) === address)
  )
  const isCurrent = observer.status.pipe(
    Effect.map((status) => status.hosts.filter(({ state }) => state === "current").length === hosts.length),
    Effect.orElseSucceed(() => false)
  )
  return {
    hosts,
    client,
    /** The same, for durable jobs. */
    durable: Effect.map(program, Context.get(DurableJob.DurableJobs)),
    storage,
    secret,
    /**
     * Waits until all hosts have the shards that are theirs, and are in the fleet by the broker that is then. A host that joins may get
     * its shards later, and until then the broker and the drivers of jobs change. On a busy machine, there may be no broker for long.
     */
    complete: until(Effect.flatMap(isSettled, (settled) => settled ? isCurrent : Effect.succeed(false))),
    /** What the broker says of a host. */
    statusOf: (host: TestedHost) =>
      Effect.map(observer.status, ({ hosts }) => hosts.find(({ name }) => name === host.name)),
    /** The host that has the broker. */
    broker: hostOf("default", "broker"),
    /** The host that sees a durable job to its end. */
    driver: (job: string, id: string) =>
      Effect.flatMap(executionIdOf(job, id), (executionId) => hostOf(durableShards, executionId)),
    lines: () => hosts.flatMap(({ log }) => log()).sort((one, other) => one.at - other.at)
  }
})

export type TestedFleet = Effect.Success<ReturnType<typeof make>>

/** Asks again until it holds: what other processes do has no event here. */
export const until = <E>(holds: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
  Effect.asVoid(Effect.repeat(holds, { schedule: Schedule.spaced("20 millis"), until: (done) => done }))

/** How long an effect takes, in milliseconds. */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<readonly [millis: number, A], E, R> =>
  Effect.suspend(() => {
    const before = HostLog.now()
    return Effect.map(effect, (a) => [HostLog.now() - before, a] as const)
  })

/** The fleet of the tests of a file. */
export class CurrentFleet extends Context.Service<CurrentFleet, TestedFleet>()("tested/CurrentFleet") {}

export const layer = (
  { storage, ...options }: Omit<Options, "storage"> & { readonly storage: Effect.Effect<string, never, Scope.Scope> }
): Layer.Layer<CurrentFleet, GpuError> =>
  Layer.effect(
    CurrentFleet,
    Effect.flatMap(storage, (storage) => Effect.tap(make({ ...options, storage }), ({ complete }) => complete))
  )
