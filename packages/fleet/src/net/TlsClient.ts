/**
 * Connections to hosts.
 *
 * @internal
 */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as Runners from "effect/cluster/Runners"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RpcClient from "effect/rpc/RpcClient"
import { RpcSerialization } from "effect/rpc/RpcSerialization"
import * as Schedule from "effect/Schedule"
import { Socket } from "effect/socket/Socket"
import type { Psk } from "./Psk.ts"

/** A client's options. Times are milliseconds. */
export interface Options {
  readonly psk: Psk
  /** How often a connection is tried, so that silence has a meaning. */
  readonly heartbeat: number
  /** After how long a silence, or without a connection, the calls under way fail. */
  readonly silence: number
}

/** Connects at the first call to a host, and again for later ones. */
export const layer = (
  { heartbeat, psk, silence }: Options
): Layer.Layer<Runners.RpcClientProtocol, never, RpcSerialization> =>
  Layer.effect(
    Runners.RpcClientProtocol,
    Effect.map(RpcSerialization, (serialization) => ({
      codecFor: serialization.codecFor,
      make: ({ host, port }) => {
        // The types of Node know these two for sockets without TLS only.
        const options = { ...psk.client, host, port, openTimeout: silence, noDelay: true, keepAlive: true }
        return Effect.flatMap(
          NodeSocket.makeTls(options),
          (socket) =>
            RpcClient.makeProtocolSocket({
              // The caller decides whether another host can do it.
              retryTransientErrors: false,
              pingInterval: heartbeat,
              pingTimeout: silence,
              retryPolicy: Schedule.spaced(Math.min(heartbeat, 500))
            }).pipe(
              Effect.provideService(Socket, socket),
              Effect.provideService(RpcSerialization, serialization)
            )
        )
      }
    }))
  )
