/**
 * The server under all that the command serves. A page from anywhere can make the browser of this machine's user ask a server here,
 * so it answers programs, and the pages of this machine; and it has no more connections than it can bear.
 *
 * @internal
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import type { Headers } from "effect/http/Headers"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
// NodeHttpServer takes the server itself, whose connections no module of Effect counts.
import { line } from "effect-gpu-pool/Format"
import { createServer, type Server } from "node:http"
import type { Socket } from "node:net"

/** Connections at a time. */
export const mostConnections = 64

/** The bytes of a message that a program sends. */
export const mostBytes = 8 * 2 ** 20

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

/** Who connects and asks for nothing is soon disconnected. */
const waitPolicy = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5000,
  keepAlive: true,
  keepAliveInitialDelay: 30_000
}

/** The names of this machine, without a port. */
const isOwnName = (name: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(name)

const withoutPort = (host: string): string => host.replace(/:\d+$/, "")

/** Whether other machines can reach it. */
const isPublic = (server: Server): boolean => {
  const address = server.address()
  return !(typeof address === "object" && address !== null && /^(?:::ffff:)?127\.|^::1$/.test(address.address))
}

/** A page whose name leads here would read what is served as its own; but no name is known by which other machines reach this one. */
const isOwnHost = (host: string | undefined, server: Server, { host: given }: ListenOptions): boolean => {
  const name = withoutPort(host ?? "").toLowerCase()
  return name !== "" &&
    (isPublic(server) || isOwnName(name) || name === given.toLowerCase() || name === `[${given.toLowerCase()}]`)
}

/** Only browsers name an origin, and each does for a WebSocket. */
const isWelcome = (origin: string, { origins = [] }: ListenOptions): boolean =>
  origins.includes(origin) || isOwnName(withoutPort(/^https?:\/\/([^/]*)$/i.exec(origin)?.[1] ?? ""))

/** A page elsewhere names no origin where it shows what it asks for, as an image; that is no page that the user opens. */
const isShownElsewhere = (headers: Headers): boolean =>
  headers["sec-fetch-site"] === "cross-site" && headers["sec-fetch-dest"] !== "document"

/** Why a request gets no answer, or `undefined`. */
const refusal = (headers: Headers, server: Server, options: ListenOptions): string | undefined => {
  const { host, origin } = headers
  if (!isOwnHost(host, server, options)) {
    return `a request to ${line(host ?? "no name")}, which is no name of this machine`
  }
  if (origin !== undefined) return isWelcome(origin, options) ? undefined : `a page of ${line(origin)}`
  return isShownElsewhere(headers) ? "a page of another machine" : undefined
}

/** Connections that ask for nothing, or have become a WebSocket, would keep the server from closing. */
const endingConnections = (server: Server): Effect.Effect<void, never, Scope.Scope> => {
  const connections = new Set<Socket>()
  server.on("connection", (connection) => {
    connections.add(connection)
    connection.once("close", () => connections.delete(connection))
  })
  return Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const connection of connections) connection.destroy()
    })
  )
}

/** Listens until the scope closes, which ends every connection, and answers requests of this machine by `app`; the address. */
export const serve = Effect.fn("LocalServer.serve")(
  function*<E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>, options: ListenOptions) {
    const { host, onRefused = () => {}, port } = options
    const node = createServer(waitPolicy)
    node.maxConnections = mostConnections
    node.on("drop", () => onRefused(`a connection, as there are ${mostConnections} already`))
    // It goes on when a connection fails.
    node.on("error", () => {})
    const server = yield* NodeHttpServer.make(() => node, {
      host,
      port,
      disablePreemptiveShutdown: true,
      // It would wait for the end of WebSockets before anything ends them.
      websocket: { maxPayload: mostBytes, clientTracking: false }
    })
    yield* endingConnections(node)
    yield* server.serve(Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      const why = refusal(headers, node, options)
      if (why === undefined) return Effect.interruptible(app)
      onRefused(why)
      return Effect.succeed(HttpServerResponse.text(`Refused: ${why}.\n`, { status: 403 }))
    }))
    return server.address
  }
)
