/**
 * A fleet of many processes, on Effect's cluster.
 */
import { ShardingConfig } from "effect/cluster/ShardingConfig"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as BrokerLink from "./broker/BrokerLink.ts"
import * as FleetClient from "./client/FleetClient.ts"
import * as HostLinks from "./client/HostLinks.ts"
import * as FleetHost from "./host/FleetHost.ts"
import * as MembershipLoop from "./host/MembershipLoop.ts"
import * as Cluster from "./net/Cluster.ts"
import type { Address } from "./protocol/FleetModel.ts"
import { HostRpcs } from "./protocol/HostRpcs.ts"
import type { Timing } from "./protocol/Timing.ts"

/** The methods of a fleet, for a process of its cluster. */
const client = Effect.fnUntraced(function*(broker: BrokerLink.BrokerLink, timing: Timing) {
  return FleetClient.make(broker, yield* HostLinks.ofCluster, timing)
})

/** What a host is made of. */
export interface Options<R> extends FleetHost.HostOptions<R>, Omit<Cluster.RunnerOptions, "timing"> {}

/** The address in the configuration has the port that was free, where the program asked for any. */
const addressOf = (asked: Address) =>
  Effect.map(
    ShardingConfig,
    ({ runnerAddress }): Address =>
      Option.match(runnerAddress, { onNone: () => asked, onSome: ({ host, port }) => ({ host, port }) })
  )

/** A host, which can have the broker too. It drains before its sockets close. */
export const host = Effect.fnUntraced(function*<R>(operation: string, options: Options<R>, timing: Timing) {
  const { handlers, leases, state } = yield* FleetHost.make(options, timing)
  const cluster = Cluster.layerRunner(operation, { ...options, timing }).pipe(
    Layer.provide(HostRpcs.toLayer(Effect.succeed(handlers)))
  )
  const services = yield* Layer.build(Layer.provideMerge(BrokerLink.layerEntity(timing), cluster))
  return yield* Effect.provideContext(
    Effect.gen(function*() {
      const broker = yield* BrokerLink.ofCluster(timing)
      const address = yield* addressOf(options.address)
      yield* MembershipLoop.stay({ state, leases, broker, address, incarnation: crypto.randomUUID() })
      return yield* client(broker, timing)
    }),
    services
  )
})

/** A process that only uses the fleet. */
export const user = Effect.fnUntraced(
  function*(operation: string, options: Omit<Cluster.Options, "timing">, timing: Timing) {
    const services = yield* Layer.build(Cluster.layerClient(operation, { ...options, timing }))
    return yield* Effect.provideContext(
      Effect.flatMap(BrokerLink.ofCluster(timing), (broker) => client(broker, timing)),
      services
    )
  }
)
