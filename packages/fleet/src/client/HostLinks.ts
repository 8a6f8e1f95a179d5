/**
 * The ways to hosts, by their addresses.
 *
 * @internal
 */
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Runners from "effect/cluster/Runners"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import * as RpcClient from "effect/rpc/RpcClient"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import type * as Scope from "effect/Scope"
import type { Address } from "../protocol/FleetModel.ts"
import { HostRpcs } from "../protocol/HostRpcs.ts"

/** The calls of one host. */
export type HostCalls = RpcClient.FromGroup<typeof HostRpcs, RpcClientError>

export interface HostLinks {
  /** The calls of the host that listens there. It may be gone: then each call fails. */
  readonly connect: (address: Address) => Effect.Effect<HostCalls, never, Scope.Scope>
  /** A call has failed: the next `connect` opens a new connection. */
  readonly failed: (address: Address) => Effect.Effect<void>
}

const keyOf = ({ host, port }: Address) => RunnerAddress.make(host, port)

/** The same connections as those between the runners of a cluster, with clients of their own. */
export const ofCluster = Effect.gen(function*() {
  const protocols = yield* Runners.RpcClientProtocol
  const clients = yield* RcMap.make({
    lookup: (address: RunnerAddress.RunnerAddress) =>
      Effect.flatMap(
        protocols.make(address),
        (protocol) =>
          Effect.provideService(RpcClient.make(HostRpcs, { disableTracing: true }), RpcClient.Protocol, protocol)
      ),
    idleTimeToLive: "1 minute"
  })
  return {
    connect: (address) => RcMap.get(clients, keyOf(address)),
    failed: (address) => RcMap.invalidate(clients, keyOf(address))
  } satisfies HostLinks
})
