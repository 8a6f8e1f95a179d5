/**
 * The server of a host's socket. A peer without the secret gets no further than the handshake, and no peer keeps a connection on
 * which nothing happens.
 *
 * @internal
 */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import * as SocketServer from "effect/socket/SocketServer"
import type { Socket as NetSocket } from "node:net"
import type { Address } from "../protocol/FleetModel.ts"
import { oneWriter } from "./OneWriter.ts"
import type { Psk } from "./Psk.ts"

/** A server's options. Times are milliseconds. */
export interface Options {
  /** The call that a program made, for its errors. */
  readonly operation: string
  readonly listen: Address
  readonly psk: Psk
  /** After how long without a byte in either direction a connection is closed. Also how long a handshake may take. */
  readonly silence: number
}

/** Listens until its scope closes. Fails with InvalidRequest if it cannot listen at this address. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<SocketServer.SocketServer["Service"], GpuError, Scope.Scope> {
  const { pskCallback, ...tlsOptions } = options.psk.server
  const handshakes = new Handshakes()
  const server = yield* NodeSocketServer.makeTls({
    ...tlsOptions,
    ...options.listen,
    pskCallback: (socket, identity) => handshakes.begins(socket) ? pskCallback?.(socket, identity) ?? null : null,
    handshakeTimeout: options.silence,
    // Without it the kernel holds back small packets, such as an interruption, for 40 ms and more.
    noDelay: true,
    keepAlive: true
  }).pipe(Effect.mapError((error) => listenError(options, error)))
  // It runs before the finalizer of `makeTls`, which waits until every connection has ended.
  yield* Effect.addFinalizer(() => Effect.sync(() => handshakes.end()))
  return SocketServer.SocketServer.of({
    address: server.address,
    run: (handler) =>
      server.run((socket) =>
        Effect.flatMap(Effect.serviceOption(NodeSocket.NetSocket), (connection) => {
          if (Option.isSome(connection)) {
            handshakes.ended(connection.value)
            // Also ends a closed connection whose peer does not read what is still to be sent.
            connection.value.setTimeout(options.silence, () => connection.value.destroy())
          }
          return handler(closing(socket))
        })
      )
  })
})

/**
 * The connections that have no handler yet. `makeTls` closes those whose handshake is over when it closes; one whose handshake ends
 * later would stay open, since no handler comes for it and nothing reads it, and the server would wait for it without an end.
 */
class Handshakes {
  readonly #sockets = new Set<NetSocket>()
  #areOver = false

  /** A peer names the secret that it has. Returns whether the handshake goes on. */
  begins(socket: NetSocket): boolean {
    if (this.#areOver) return false
    this.#sockets.add(socket)
    socket.once("close", () => this.ended(socket))
    return true
  }

  /** The connection has a handler, or is closed. */
  ended(socket: NetSocket): void {
    this.#sockets.delete(socket)
  }

  /** Closes the connections, and lets no other begin. */
  end(): void {
    this.#areOver = true
    for (const socket of this.#sockets) socket.destroy()
  }
}

/**
 * Every error of a connection is its end. The RPC server would die of the others, and log it, though it is the peer that decides
 * when to cut a connection.
 */
const closing = (socket: Socket.Socket): Socket.Socket =>
  Socket.make({
    reader: Effect.map(socket.reader, (reader) => ({ ...reader, pull: Effect.mapError(reader.pull, asClosed) })).pipe(
      Effect.mapError(asClosed)
    ),
    writer: Effect.map(socket.writer, (writer) => {
      const { write, writeAll } = oneWriter(writer)
      return {
        // What cannot be written any more is not for anyone: the reader ends too.
        write: (chunk) => Effect.ignore(write(chunk)),
        writeAll: (chunks) => Effect.ignore(writeAll(chunks))
      }
    })
  })

const asClosed = (error: Socket.SocketError): Socket.SocketError =>
  error.reason._tag === "SocketCloseError"
    ? error
    : new Socket.SocketError({ reason: new Socket.SocketCloseError({ code: 1006 }) })

const hints: Readonly<Record<string, string>> = {
  EADDRINUSE: "Another process, or another host of this one, listens there: end it, or take another port.",
  EADDRNOTAVAIL: "This machine has no such address: listen on one of its own, or on 0.0.0.0.",
  EACCES: "Take a port from 1024 on, or run the process with the right to use this one.",
  ENOTFOUND: "Give the name or the IP address of a network interface of this machine."
}

const listenError = (
  { listen: { host, port }, operation }: Options,
  error: SocketServer.SocketServerError
): GpuError => {
  const { cause } = error.reason
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown"
  const said = cause instanceof Error ? cause.message : String(cause)
  return invalidRequest(
    operation,
    `it cannot listen on port ${port} of ${host}: ${said}`,
    hints[code] ?? "Check the address, and whether this process may listen there."
  )
}
