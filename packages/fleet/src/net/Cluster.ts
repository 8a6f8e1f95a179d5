/**
 * The parts of Effect's cluster that a fleet runs on, with sockets of Node and storage in a database.
 *
 * @internal
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Cause from "effect/Cause"
import type { MessageStorage } from "effect/cluster/MessageStorage"
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as Runners from "effect/cluster/Runners"
import * as RunnerServer from "effect/cluster/RunnerServer"
import type { RunnerStorage } from "effect/cluster/RunnerStorage"
import * as Sharding from "effect/cluster/Sharding"
import type { ShardingConfig } from "effect/cluster/ShardingConfig"
import * as SqlMessageStorage from "effect/cluster/SqlMessageStorage"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as Rpc from "effect/rpc/Rpc"
import type * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcServer from "effect/rpc/RpcServer"
import * as Schedule from "effect/Schedule"
import { SocketServer } from "effect/socket/SocketServer"
import { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Address } from "../protocol/FleetModel.ts"
import { HostRpcs } from "../protocol/HostRpcs.ts"
import type { Timing } from "../protocol/Timing.ts"
import * as Framing from "./Framing.ts"
import * as Psk from "./Psk.ts"
import * as ShardingTimes from "./ShardingTimes.ts"
import { storageError } from "./StorageError.ts"
import * as TlsClient from "./TlsClient.ts"
import * as TlsServer from "./TlsServer.ts"

/** What all processes of a fleet have in common. */
export interface Options {
  readonly secret: Redacted.Redacted<string>
  readonly timing: Timing
}

/** A process that is a host too. */
export interface RunnerOptions extends Options {
  /** Where the others reach it. Port 0 stands for any free one: `ShardingConfig.runnerAddress` then has the one that was taken. */
  readonly address: Address
  /** Where it listens, if that is not the same address. */
  readonly listen?: Address | undefined
}

/** What a process of the fleet has, host or client. The protocol is for calls to hosts, by the address in a placement. */
export type Services =
  | Sharding.Sharding
  | Runners.Runners
  | Runners.RpcClientProtocol
  | MessageStorage
  | ShardingConfig

/** The handlers of what clients ask a host. */
export type HostHandlers = Rpc.ToHandler<RpcGroup.Rpcs<typeof HostRpcs>>

/** The names of the fleet's tables begin with it, so that a database can have another cluster too. */
const prefix = "gpu_fleet"

const storageHint = "Check that the database is there, and that its user may make tables and write to them."

/** The database answers. Effect's storages would die of one that does not. */
const answers = (call: string) =>
  SqlClient.use((sql) => sql`SELECT 1`).pipe(Effect.mapError((error) => storageError(call, error, storageHint)))

const tableError = (error: SqlError): GpuError => storageError("make the tables of the fleet", error, storageHint)

/** Effect's migrations die of the errors of their statements. */
const tableErrors = (cause: Cause.Cause<SqlError>): Cause.Cause<GpuError> => {
  const died = Cause.squash(cause)
  const reason = died instanceof MigrationError ? died.cause : died
  return isSqlError(reason) ? Cause.fail(tableError(reason)) : Cause.map(cause, tableError)
}

const storages: Layer.Layer<MessageStorage | RunnerStorage, GpuError, SqlClient | ShardingConfig> = Layer.merge(
  SqlMessageStorage.layerWith({ prefix }).pipe(Layer.provide(NodeCrypto.layerDigest)),
  SqlRunnerStorage.layerWith({ prefix })
).pipe(
  Layer.catchCause((cause) =>
    Layer.effectContext<MessageStorage | RunnerStorage, GpuError, never>(Effect.failCause(tableErrors(cause)))
  ),
  Layer.provideMerge(Layer.effectDiscard(answers("ask the database")))
)

/**
 * Finds out which runners answer, for those that are cut off but still reach the database. It takes longer than the timeout of a
 * broker, because a runner that ended is found by its silence in the database by then, when its locks are free too. Effect's own
 * check gives a runner that hangs a minute. A runner asks itself too, over its socket: it may be the one that no other can reach.
 */
const health = ({ brokerTimeout, heartbeat }: Timing) =>
  Layer.effect(
    RunnerHealth.RunnerHealth,
    Effect.map(Runners.Runners, (runners) => ({
      isAlive: (address) =>
        runners.ping(address).pipe(
          Effect.retry(Schedule.spaced(heartbeat)),
          Effect.timeout(brokerTimeout + heartbeat),
          Effect.isSuccess
        )
    }))
  )

/** The calls between runners end with the broker's timeout, so that they find the next broker. */
const runners = (psk: Psk.Psk, { brokerTimeout, heartbeat }: Timing) =>
  Runners.layerRpc.pipe(Layer.provide(TlsClient.layer({ psk, heartbeat, silence: brokerTimeout })))

const common = (psk: Psk.Psk, timing: Timing, address: Option.Option<RunnerAddress.RunnerAddress>) =>
  Layer.provideMerge(
    Layer.mergeAll(
      storages,
      TlsClient.layer({ psk, heartbeat: timing.heartbeat, silence: timing.hostTimeout })
    ),
    ShardingTimes.layer(timing, address)
  )

/**
 * A process that only uses the fleet. Fails with InvalidRequest for a wrong secret, and with DriverError if the database does not
 * answer.
 */
export const layerClient = (
  operation: string,
  { secret, timing }: Options
): Layer.Layer<Services, GpuError, SqlClient> =>
  Layer.unwrap(Effect.map(Psk.make(operation, secret), (psk) =>
    Sharding.layer.pipe(
      Layer.provide(RunnerHealth.layerNoop),
      Layer.provideMerge(runners(psk, timing)),
      Layer.provideMerge(common(psk, timing, Option.none())),
      Layer.provide(Framing.layer)
    )))

/**
 * A host: it also can have the broker, and serves the calls of clients. Fails as {@link layerClient}, and with InvalidRequest if it
 * cannot listen.
 */
export const layerRunner = (
  operation: string,
  { address, listen = address, secret, timing }: RunnerOptions
): Layer.Layer<Services, GpuError, SqlClient | HostHandlers> =>
  Layer.unwrap(Effect.gen(function*() {
    const psk = yield* Psk.make(operation, secret)
    const server = yield* TlsServer.make({ operation, listen, psk, silence: timing.hostTimeout })
    const bound = server.address._tag === "UnixPathAddress" ? address.port : server.address.port
    const own = RunnerAddress.make(address.host, address.port === 0 ? bound : address.port)
    return serving.pipe(
      Layer.provideMerge(Sharding.layer),
      Layer.provide(health(timing)),
      Layer.provideMerge(runners(psk, timing)),
      Layer.provideMerge(common(psk, timing, Option.some(own))),
      Layer.provide(RpcServer.layerProtocolSocketServer),
      Layer.provide(Layer.succeed(SocketServer)(server)),
      Layer.provide(Framing.layer)
    )
  }))

/** What other runners say, and what clients ask this host, on the same socket. */
const serving = RpcServer.layer(Runners.Rpcs.merge(HostRpcs), { disableTracing: true, disableFatalDefects: true }).pipe(
  Layer.provide(RunnerServer.layerHandlers)
)
