/**
 * A server of a few things, each made anew for each request.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

/** What stands at a path, or why it cannot be had now. */
export type Answer = { readonly type: string; readonly body: string | Uint8Array } | { readonly problem: string }

/** By their paths, from the slash on. */
export type Answers = Readonly<Record<string, Effect.Effect<Answer>>>

const write = (answer: Answer, response: ServerResponse): void => {
  const [status, type, body] = "body" in answer
    ? [200, answer.type, answer.body] as const
    : [502, "text/plain; charset=utf-8", `${answer.problem}\n`] as const
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body)
}

/** Names of this machine: a page elsewhere whose name leads here may not read what the program does. */
const isOwnName = (host: string | undefined): boolean =>
  /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(host ?? "")

const asked = ({ headers, method, url = "" }: IncomingMessage, answers: Answers): Effect.Effect<Answer> | undefined =>
  method === "GET" && isOwnName(headers.host) && Object.hasOwn(answers, url) ? answers[url] : undefined

const listening = (server: Server, port: number): Effect.Effect<Server, Error> =>
  Effect.callback((resume) => {
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen({ host: "localhost", port }, () => resume(Effect.succeed(server)))
  })

const closed = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/**
 * Listens on this machine alone, until the scope closes; its address, as `http://127.0.0.1:3000/`. Port 0 takes any that is free.
 * Fails with the error of listening.
 */
export const serve = (
  answers: Answers,
  port: number
): Effect.Effect<string, Error, Scope.Scope> =>
  Effect.gen(function*() {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const server = createServer((request, response) => {
      const making = asked(request, answers)
      if (making === undefined) return void response.writeHead(404).end()
      const fiber = run(Effect.map(making, (answer) => write(answer, response)))
      // Who has gone does not want the page any more.
      response.once("close", () => fiber.interruptUnsafe())
    })
    yield* Effect.acquireRelease(listening(server, port), closed, { interruptible: true })
    const address = server.address()
    if (address === null || typeof address === "string") {
      return yield* Effect.die(new Error("the server has no address"))
    }
    const host = address.family === "IPv6" ? `[${address.address}]` : address.address
    return `http://${host}:${address.port}/`
  })
