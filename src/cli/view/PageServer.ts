/**
 * A server of one page, which is made anew for each request.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

export interface PageOptions {
  /** 0 takes any that is free. */
  readonly port: number
  /** Seconds after which the browser asks again; undefined: when its user does. */
  readonly refresh: number | undefined
}

/** The page, or why there is none now. */
export type Page = { readonly html: string } | { readonly problem: string }

const answer = (page: Page, { refresh }: PageOptions, response: ServerResponse): void => {
  const [status, type, body] = "html" in page
    ? [200, "text/html; charset=utf-8", page.html] as const
    : [502, "text/plain; charset=utf-8", `${page.problem}\n`] as const
  response.writeHead(status, {
    "content-type": type,
    "cache-control": "no-store",
    ...(refresh === undefined ? {} : { refresh: String(refresh) })
  })
  response.end(body)
}

/** Names of this machine: a page elsewhere whose name leads here may not read what the program does. */
const isOwnName = (host: string | undefined): boolean =>
  /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(host ?? "")

const isPage = ({ headers, method, url }: IncomingMessage): boolean =>
  method === "GET" && url === "/" && isOwnName(headers.host)

const listening = (server: Server, { port }: PageOptions): Effect.Effect<Server, Error> =>
  Effect.callback((resume) => {
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen({ host: "localhost", port }, () => resume(Effect.succeed(server)))
  })

const closed = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/** Listens on this machine alone, until the scope closes; its address, as `http://127.0.0.1:3000/`. Fails with the error of listening. */
export const serve = (
  make: Effect.Effect<Page>,
  options: PageOptions
): Effect.Effect<string, Error, Scope.Scope> =>
  Effect.gen(function*() {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const server = createServer((request, response) => {
      if (!isPage(request)) return void response.writeHead(404).end()
      const fiber = run(Effect.map(make, (page) => answer(page, options, response)))
      // Who has gone does not want the page any more.
      response.once("close", () => fiber.interruptUnsafe())
    })
    yield* Effect.acquireRelease(listening(server, options), closed, { interruptible: true })
    const address = server.address()
    if (address === null || typeof address === "string") {
      return yield* Effect.die(new Error("the server has no address"))
    }
    const host = address.family === "IPv6" ? `[${address.address}]` : address.address
    return `http://${host}:${address.port}/`
  })
