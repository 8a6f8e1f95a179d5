/**
 * The server under all that the command serves: it refuses pages from elsewhere, and has no more connections than it can bear.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { refusal } from "./Refusal.ts"

/** Connections at a time. */
export const mostConnections = 64

export interface ListenOptions {
  /** The name or address to listen at. */
  readonly host: string
  /** 0 takes any that is free. */
  readonly port: number
  /** The pages that may ask besides those of this machine, as `https://app.example`. */
  readonly origins?: ReadonlyArray<string>
  /** Hears who was refused, and why. */
  readonly onRefused?: (why: string) => void
}

export interface Answering {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
  /** Takes over the connection of a request for a WebSocket; a server without it refuses those. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Who connects and asks for nothing is soon disconnected. */
const patience = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  keepAlive: true,
  keepAliveInitialDelay: 30_000
}

const plainText = "text/plain; charset=utf-8"

const serverOf = (options: ListenOptions, { onRequest, onUpgrade }: Answering): Server => {
  const { host, onRefused = () => {}, origins = [] } = options
  const server = createServer(patience)
  server.maxConnections = mostConnections
  const refusalOf = ({ headers }: IncomingMessage): string | undefined => {
    const why = refusal(headers, { host, origins, isPublic: !isOfThisMachine(server.address()) })
    if (why !== undefined) onRefused(why)
    return why
  }
  server.on("request", (request, response) => {
    const why = refusalOf(request)
    if (why === undefined) return onRequest(request, response)
    response.writeHead(403, { "content-type": plainText }).end(`Refused: ${why}.\n`)
  })
  if (onUpgrade !== undefined) {
    server.on("upgrade", (request, socket, head) => {
      const why = refusalOf(request)
      if (why === undefined) return onUpgrade(request, socket, head)
      socket.on("error", () => {})
      socket.once("finish", () => socket.destroy())
      socket.end(
        `HTTP/1.1 403 Forbidden\r\ncontent-type: ${plainText}\r\nconnection: close\r\n\r\nRefused: ${why}.\n`
      )
    })
  }
  server.on("drop", () => onRefused(`a connection, as there are ${mostConnections} already`))
  return server
}

const isOfThisMachine = (address: ReturnType<Server["address"]>): boolean =>
  typeof address === "object" && address !== null && /^(?:::ffff:)?127\.|^::1$/.test(address.address)

const listening = (server: Server, { host, port }: ListenOptions): Effect.Effect<Server, Error> =>
  Effect.callback((resume) => {
    // After it listens it goes on, also when a connection fails.
    server.on("error", (error) => resume(Effect.fail(error)))
    server.listen({ host, port }, () => resume(Effect.succeed(server)))
  })

const closed = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** Listens until the scope closes, and answers the address. Fails with the error of listening. */
export const listen = (
  options: ListenOptions,
  answering: Answering
): Effect.Effect<AddressInfo, Error, Scope.Scope> =>
  Effect.gen(function*() {
    const opening = Effect.suspend(() => listening(serverOf(options, answering), options))
    const server = yield* Effect.acquireRelease(opening, closed, { interruptible: true })
    const address = server.address()
    return address === null || typeof address === "string"
      ? yield* Effect.die(new Error("the server has no address"))
      : address
  })
