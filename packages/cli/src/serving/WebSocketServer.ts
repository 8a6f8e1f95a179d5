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
import type { IncomingMessage } from "node:http"
import { type RawData, type WebSocket, WebSocketServer } from "ws"
import { listen, type ListenOptions } from "./LocalServer.ts"

/** The bytes of a line of a protocol, and of what waits to be sent: some 1500 pools. */
export const mostBytes = 8 * 2 ** 20

const opening = (cause: unknown): SocketServer.SocketServerError =>
  new SocketServer.SocketServerError({ reason: new SocketServer.SocketServerOpenError({ cause }) })

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data

const lineFeed = 10

/** Ends a connection whose line does not end, or that does not read: either would fill the memory of this process. */
const bound = (socket: WebSocket, onTooMuch: () => void): void => {
  let unended = 0
  socket.on("message", (data) => {
    const bytes = bytesOf(data)
    const end = bytes.lastIndexOf(lineFeed)
    unended = end === -1 ? unended + bytes.length : bytes.length - end - 1
    if (unended <= mostBytes && socket.bufferedAmount <= mostBytes) return
    onTooMuch()
    socket.terminate()
  })
  // Of one message ws says so itself.
  socket.on("error", (error) => {
    if ("code" in error && error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") onTooMuch()
  })
}

const inetAddress = (
  { address, port }: { readonly address: string; readonly port: number }
): Effect.Effect<NetAddress.SocketAddress, SocketServer.SocketServerError> =>
  Effect.fromResult(Result.mapError(NetAddress.inetAddressFromIpString(address, port), opening))

const ended = (sockets: WebSocketServer): Effect.Effect<void> =>
  Effect.callback((resume) => {
    for (const socket of sockets.clients) socket.terminate()
    sockets.close(() => resume(Effect.void))
  })

/** Listens until the scope closes, which ends every connection. */
export const make = (
  options: ListenOptions
): Effect.Effect<SocketServer.SocketServer["Service"], SocketServer.SocketServerError, Scope.Scope> =>
  Effect.gen(function*() {
    const { onRefused = () => {} } = options
    const connections = yield* Queue.unbounded<WebSocket>()
    const accept = (socket: WebSocket, { socket: { remoteAddress, remotePort } }: IncomingMessage): void => {
      // A message that arrives before a fiber reads the socket would be lost.
      socket.pause()
      bound(socket, () =>
        onRefused(
          `a program at ${remoteAddress}:${remotePort}, as it sent more than ${
            mostBytes / 2 ** 20
          } MiB at once, or did not read`
        ))
      Queue.offerUnsafe(connections, socket)
    }
    const sockets = new WebSocketServer({ noServer: true, maxPayload: mostBytes })
    const listening = listen(options, {
      onRequest: (_, response) => void response.writeHead(426, { upgrade: "websocket" }).end(),
      onUpgrade: (request, socket, head) => sockets.handleUpgrade(request, socket, head, accept)
    })
    // The server under the connections waits for their end, so they end first.
    const address = yield* Effect.acquireRelease(Effect.mapError(listening, opening), () => ended(sockets))
    return SocketServer.SocketServer.of({
      address: yield* inetAddress(address),
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
