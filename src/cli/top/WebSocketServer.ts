/**
 * A server of WebSockets for Effect's socket protocols, on npm `ws`: the command needs no package for a platform.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as NetAddress from "effect/net/NetAddress"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as SocketServer from "effect/socket/SocketServer"
import { type WebSocket, WebSocketServer } from "ws"

export interface ListenOptions {
  readonly host: string
  /** 0 takes any that is free. */
  readonly port: number
}

const opening = (cause: unknown): SocketServer.SocketServerError =>
  new SocketServer.SocketServerError({ reason: new SocketServer.SocketServerOpenError({ cause }) })

const listen = (
  options: ListenOptions,
  connections: Queue.Enqueue<WebSocket>
): Effect.Effect<WebSocketServer, SocketServer.SocketServerError> =>
  Effect.callback((resume) => {
    const server = new WebSocketServer(options)
    server.on("connection", (socket) => {
      // A message that arrives before a fiber reads the socket would be lost.
      socket.pause()
      Queue.offerUnsafe(connections, socket)
    })
    server.once("error", (cause) => resume(Effect.fail(opening(cause))))
    server.once("listening", () => resume(Effect.succeed(server)))
  })

const close = (server: WebSocketServer): Effect.Effect<void> =>
  Effect.callback((resume) => {
    for (const client of server.clients) client.terminate()
    server.close(() => resume(Effect.void))
  })

const addressOf = (
  server: WebSocketServer
): Effect.Effect<NetAddress.SocketAddress, SocketServer.SocketServerError> => {
  const address = server.address()
  if (address === null || typeof address === "string") return Effect.fail(opening(new Error("it has no address")))
  return Effect.fromResult(
    Result.mapError(NetAddress.inetAddressFromIpString(address.address, address.port), opening)
  )
}

/** Listens until the scope closes, which ends every connection. */
export const make = (
  options: ListenOptions
): Effect.Effect<SocketServer.SocketServer["Service"], SocketServer.SocketServerError, Scope.Scope> =>
  Effect.gen(function*() {
    const connections = yield* Queue.unbounded<WebSocket>()
    const server = yield* Effect.acquireRelease(listen(options, connections), close)
    const address = yield* addressOf(server)
    return SocketServer.SocketServer.of({
      address,
      run: (handler) =>
        Queue.take(connections).pipe(
          Effect.flatMap((socket) => Effect.forkChild(Effect.flatMap(socketOf(socket), handler))),
          Effect.forever
        )
    })
  })

const socketOf = (socket: WebSocket): Effect.Effect<Socket.Socket> =>
  Socket.fromWebSocket(
    Effect.acquireRelease(Effect.succeed(socket), () => Effect.sync(() => socket.close()))
  )
