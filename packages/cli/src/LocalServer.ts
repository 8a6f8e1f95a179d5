/**
 * The server of all that the command serves. A page from anywhere can make the user's browser send requests to a server on this
 * machine, so it only answers programs and the pages of this machine; and it bounds the number of connections.
 *
 * @internal
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { line } from "effect-gpu-pool/Format"
import * as Effect from "effect/Effect"
import type { Headers } from "effect/http/Headers"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Scope from "effect/Scope"
// NodeHttpServer takes a server of Node; no module of Effect counts its connections.
import { createServer, type Server } from "node:http"
import type { Socket } from "node:net"

/** The most connections at a time. */
export const mostConnections = 64

/** The most bytes of a message from a program. */
export const mostBytes = 8 * 2 ** 20

export interface ListenOptions {
  /** The name or address to listen at. */
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Origins that may connect besides those of this machine, such as `https://app.example`. */
  readonly origins?: ReadonlyArray<string>
  /** Is called with the reason of each refusal, which names who was refused. */
  readonly onRefused?: (why: string) => void
}

/** Timeouts that soon close connections without a request. */
const timeouts = {
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

/** Checks the host name against DNS rebinding. If other machines can reach the server, any name passes, since theirs for it are not known. */
const isOwnHost = (host: string | undefined, server: Server, { host: given }: ListenOptions): boolean => {
  const name = withoutPort(host ?? "").toLowerCase()
  return name !== "" &&
    (isPublic(server) || isOwnName(name) || name === given.toLowerCase() || name === `[${given.toLowerCase()}]`)
}

/** Only browsers send an origin, and they always do for a WebSocket. */
const isWelcome = (origin: string, { origins = [] }: ListenOptions): boolean =>
  origins.includes(origin) || isOwnName(withoutPort(/^https?:\/\/([^/]*)$/i.exec(origin)?.[1] ?? ""))

/** Whether another page embeds the resource, as an image for example: then there is no origin, and it is no page that the user opens. */
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

/** Closes idle connections and WebSockets, which would keep the server from closing. */
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

/** Answers requests of this machine by `app` until the scope closes, which ends every connection. Returns the address. */
export const serve = Effect.fn("LocalServer.serve")(
  function*<E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>, options: ListenOptions) {
    const { host, onRefused = () => {}, port } = options
    const node = createServer(timeouts)
    node.maxConnections = mostConnections
    node.on("drop", () => onRefused(`a connection, as there are ${mostConnections} already`))
    // The server continues when a connection fails.
    node.on("error", () => {})
    const server = yield* NodeHttpServer.make(() => node, {
      host,
      port,
      disablePreemptiveShutdown: true,
      // Otherwise closing would wait for WebSockets that nothing ends.
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
