/** Which host has which shard, by the rules of Effect's cluster. */
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as HashRing from "effect/HashRing"
import type { SqlClient } from "effect/sql/SqlClient"
import { shardGroups, shardsPerGroup } from "../../src/net/ShardingTimes.ts"

/** The shard of an entity. */
export const shardOf = (group: string, entity: string): string =>
  `${group}:${Math.abs(Hash.string(entity) % shardsPerGroup) + 1}`

/** The address of a host that listens at this port. */
export const addressOf = (port: number): string => `127.0.0.1:${port}`

/** The addresses that are to have the shards while the hosts at these ports are there. */
export const assigned = (ports: ReadonlyArray<number>): ReadonlyMap<string, string> => {
  const ring = HashRing.make<RunnerAddress.RunnerAddress>()
  for (const port of ports) HashRing.add(ring, RunnerAddress.make("127.0.0.1", port), { weight: 1 })
  const ported = (HashRing.getShards(ring, shardsPerGroup) ?? []).map(({ port }) => addressOf(port))
  return new Map(shardGroups.flatMap((group) => ported.map((address, n) => [`${group}:${n + 1}`, address])))
}

/** The addresses that have the shards. One that moves is with its old host until all that runs in it has ended. */
export const held = (sql: SqlClient): Effect.Effect<ReadonlyMap<string, string>> =>
  sql<{ readonly shard_id: string; readonly address: string }>`SELECT shard_id, address FROM gpu_fleet_locks`.pipe(
    Effect.map((locks) => new Map(locks.map(({ address, shard_id }) => [shard_id, address]))),
    Effect.orDie
  )
