/**
 * When a cluster acts, by the times of its fleet.
 *
 * @internal
 */
import type { RunnerAddress } from "effect/cluster/RunnerAddress"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import type { Timing } from "../protocol/Timing.ts"

/** Few, because only the broker, Effect's check of health, and durable jobs have an entity. The same in every process. */
export const shardsPerGroup = 8

/**
 * Durable jobs have shards of their own: a shard moves when all that runs in it has ended, and the broker must not wait for jobs to
 * end.
 */
export const durableShards = "durable"

export const shardGroups = ["default", durableShards]

/** Effect's tables in SQLite have whole seconds, so a lock expires up to a second later than asked for. */
const sqliteExpiration = (brokerTimeout: number): number => 1000 * Math.max(2, Math.floor(brokerTimeout / 1000) - 1)

/** The database counts whole seconds. */
const expiration = (brokerTimeout: number): number => 1000 * Math.max(1, Math.floor(brokerTimeout / 1000))

/** Without an address, the process is a client. */
export const layer = (
  { brokerTimeout, drainTimeout, heartbeat }: Timing,
  runnerAddress: Option.Option<RunnerAddress>
): Layer.Layer<ShardingConfig.ShardingConfig, never, SqlClient> =>
  Layer.effect(
    ShardingConfig.ShardingConfig,
    Effect.map(SqlClient, (sql) => {
      const shardLockExpiration = sql.onDialectOrElse({
        sqlite: () => sqliteExpiration(brokerTimeout),
        orElse: () => expiration(brokerTimeout)
      })
      return {
        ...ShardingConfig.defaults,
        runnerAddress,
        availableShardGroups: shardGroups,
        assignedShardGroups: shardGroups,
        shardsPerGroup,
        // The broker is one of them, and is never to wait until others end.
        maxResidentEntities: "unbounded",
        // A host that drains still asks the broker, for durable jobs that wait.
        preemptiveShutdown: false,
        shardLockExpiration,
        shardLockRefreshInterval: shardLockExpiration / 3,
        // A runner that hangs keeps an advisory lock until its session has been idle for so long: longer than its silence.
        shardLockDisableAdvisory: true,
        refreshAssignmentsInterval: heartbeat / 2,
        runnerHealthCheckInterval: heartbeat,
        entityMessagePollInterval: heartbeat,
        entityReplyPollInterval: Math.min(heartbeat, 200),
        // For durable jobs that run. The broker ends at once.
        entityTerminationTimeout: drainTimeout,
        sendRetryInterval: Math.min(heartbeat / 2, 100),
        // Hosts that start together move the broker once.
        runnerJoinDebounce: heartbeat,
        simulateRemoteSerialization: false
      }
    })
  )
