/**
 * A fleet within one process: a broker, hosts and their clients, without sockets and storage.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RpcTest from "effect/rpc/RpcTest"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import * as BrokerLink from "./broker/BrokerLink.ts"
import * as FleetClient from "./client/FleetClient.ts"
import type { HostCalls, HostLinks } from "./client/HostLinks.ts"
import * as DurableClient from "./durable/DurableClient.ts"
import * as JobWorkflow from "./durable/JobWorkflow.ts"
import * as FleetHost from "./host/FleetHost.ts"
import type { HostOptions } from "./host/HostOptions.ts"
import * as MembershipLoop from "./host/MembershipLoop.ts"
import { HostRpcs } from "./protocol/HostRpcs.ts"
import type { Timing } from "./protocol/Timing.ts"

/** The methods of a fleet of these hosts, which end with the scope. */
export const make = Effect.fnUntraced(function*<R>(hosts: ReadonlyArray<HostOptions<R>>, timing: Timing) {
  const broker = yield* BrokerLink.local(timing, 0)
  const calls = new Map<number, HostCalls>()
  const links: HostLinks = {
    connect: ({ port }) => Effect.sync(() => calls.get(port)!),
    failed: () => Effect.void
  }
  const fleet = FleetClient.make(broker, links, timing)
  // It ends after the hosts, which wait for the jobs that run.
  const engine = yield* Layer.build(
    Layer.fresh(Layer.provideMerge(JobWorkflow.make(fleet).layer, WorkflowEngine.layerMemory))
  )
  for (const [port, options] of hosts.entries()) {
    const { handlers, leases, state } = yield* FleetHost.make(options, timing, "Fleet.layerLocal")
    calls.set(
      port,
      yield* Effect.provideContext(
        RpcTest.makeClient(HostRpcs, { disableFatalDefects: true }),
        yield* HostRpcs.toHandlers(Effect.succeed(handlers))
      )
    )
    const address = { host: "local", port }
    yield* MembershipLoop.stay({ state, leases, broker, address, incarnation: crypto.randomUUID() })
  }
  return { fleet, durable: yield* Effect.provideContext(DurableClient.make, engine) }
})
