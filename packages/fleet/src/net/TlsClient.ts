/**
 * Connections to hosts.
 *
 * @internal
 */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import type { RunnerAddress } from "effect/cluster/RunnerAddress"
import * as Runners from "effect/cluster/Runners"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RpcClient from "effect/rpc/RpcClient"
import { RpcSerialization } from "effect/rpc/RpcSerialization"
import * as Schedule from "effect/Schedule"
import * as Socket from "effect/socket/Socket"
import { oneWriter } from "./OneWriter.ts"
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
export const layer = (options: Options): Layer.Layer<Runners.RpcClientProtocol, never, RpcSerialization> =>
  Layer.effect(
    Runners.RpcClientProtocol,
    Effect.map(RpcSerialization, (serialization) => ({
      codecFor: serialization.codecFor,
      make: (address) =>
        Effect.flatMap(socketTo(address, options), (socket) =>
          RpcClient.makeProtocolSocket({
            // The caller decides whether another host can do it.
            retryTransientErrors: false,
            pingInterval: options.heartbeat,
            pingTimeout: options.silence,
            retryPolicy: Schedule.spaced(Math.min(options.heartbeat, 500))
          }).pipe(
            Effect.provideService(Socket.Socket, socket),
            Effect.provideService(RpcSerialization, serialization)
          ))
    }))
  )

const socketTo = ({ host, port }: RunnerAddress, { psk, silence }: Options): Effect.Effect<Socket.Socket> => {
  // The types of Node know these two for sockets without TLS only.
  const options = { ...psk.client, host, port, openTimeout: silence, noDelay: true, keepAlive: true }
  let isTold = false
  const tellRefusal = (error: Socket.SocketError): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { cause } = error.reason
      // What OpenSSL says has its reason, as "ssl/tls alert bad record mac".
      if (isTold || !(cause instanceof Error && "library" in cause && "reason" in cause)) return Effect.void
      isTold = true
      return Effect.logWarning(
        `The host at ${host}:${port} and this process of its fleet do not trust each other (${
          String(cause.reason)
        }). ` +
          "Give both the same secret. This is tried again."
      )
    })
  return Effect.map(NodeSocket.makeTls(options), ({ reader, writer }) =>
    // A cluster takes a host that it cannot reach for one that is away, and waits for it in silence.
    Socket.make({ reader: Effect.tapError(reader, tellRefusal), writer: Effect.map(writer, oneWriter) }))
}
