/**
 * A fleet of many processes, on Effect's cluster.
 *
 * @internal
 */
import * as ClusterWorkflowEngine from "effect/cluster/ClusterWorkflowEngine"
import { ShardingConfig } from "effect/cluster/ShardingConfig"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as BrokerLink from "./broker/BrokerLink.ts"
import * as FleetClient from "./client/FleetClient.ts"
import * as HostLinks from "./client/HostLinks.ts"
import * as DurableClient from "./durable/DurableClient.ts"
import * as JobWorkflow from "./durable/JobWorkflow.ts"
import * as FleetHost from "./host/FleetHost.ts"
import type { HostOptions } from "./host/HostOptions.ts"
import * as MembershipLoop from "./host/MembershipLoop.ts"
import * as Cluster from "./net/Cluster.ts"
import type { Address } from "./protocol/FleetModel.ts"
import { HostRpcs } from "./protocol/HostRpcs.ts"
import type { Timing } from "./protocol/Timing.ts"

// Layers of the cluster are built afresh: the program may have a cluster of its own, or be several hosts of this one.

/** What a host is made of. */
export interface Options<R> extends HostOptions<R>, Omit<Cluster.RunnerOptions, "timing"> {}

/** The address in the configuration has the port that was free, where the program asked for any. */
const addressOf = (asked: Address) =>
  Effect.map(
    ShardingConfig,
    ({ runnerAddress }): Address =>
      Option.match(runnerAddress, { onNone: () => asked, onSome: ({ host, port }) => ({ host, port }) })
  )

/**
 * A host, which can have the broker too. When it ends, it waits for its reservations and for the durable jobs that it sees to their end,
 * lets go of the broker, and closes its sockets.
 */
export const host = Effect.fnUntraced(function*<R>(operation: string, options: Options<R>, timing: Timing) {
  const { handlers, leases, state } = yield* FleetHost.make(options, timing)
  const cluster = Cluster.layerRunner(operation, { ...options, timing }).pipe(
    Layer.provide(HostRpcs.toLayer(Effect.succeed(handlers)))
  )
  const services = yield* Layer.build(Layer.fresh(Layer.provideMerge(BrokerLink.layerEntity(timing), cluster)))
  return yield* Effect.provideContext(
    Effect.gen(function*() {
      const broker = yield* BrokerLink.ofCluster(timing)
      const fleet = FleetClient.make(broker, yield* HostLinks.ofCluster, timing)
      const durable = yield* Scope.fork(yield* Effect.scope)
      const jobs = JobWorkflow.make(fleet)
      // Before it joins, since a message for an entity that a runner does not have for long is answered with a defect.
      const engine = yield* Layer.build(
        Layer.fresh(Layer.provideMerge(jobs.layer, ClusterWorkflowEngine.layer))
      ).pipe(Scope.provide(durable))
      yield* MembershipLoop.stay({
        state,
        leases,
        broker,
        address: yield* addressOf(options.address),
        incarnation: crypto.randomUUID(),
        // The scope waits for the jobs in this host's shards. A shard that is on its way to another host is no longer one of them, though
        // the other host gets it only when its jobs have ended here.
        alsoEnds: Effect.all([Scope.close(durable, Exit.void), Effect.timeoutOption(jobs.ended, timing.drainTimeout)], {
          concurrency: "unbounded",
          discard: true
        })
      })
      return { fleet, durable: yield* Effect.provideContext(DurableClient.make, engine) }
    }),
    services
  )
})

/** A process that only uses the fleet. */
export const user = Effect.fnUntraced(
  function*(operation: string, options: Omit<Cluster.Options, "timing">, timing: Timing) {
    const services = yield* Layer.build(
      Layer.fresh(
        Layer.provideMerge(ClusterWorkflowEngine.layer, Cluster.layerClient(operation, { ...options, timing }))
      )
    )
    return yield* Effect.provideContext(
      Effect.gen(function*() {
        const fleet = FleetClient.make(yield* BrokerLink.ofCluster(timing), yield* HostLinks.ofCluster, timing)
        return { fleet, durable: yield* DurableClient.make }
      }),
      services
    )
  }
)
