/**
 * A server of a few things, each made anew for each request.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { IncomingMessage, ServerResponse } from "node:http"
import { listen } from "./LocalServer.ts"

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

const asked = ({ method, url = "" }: IncomingMessage, answers: Answers): Effect.Effect<Answer> | undefined =>
  method === "GET" && Object.hasOwn(answers, url) ? answers[url] : undefined

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
    // Each has a whole recording in memory while it is made.
    const oneAtATime = yield* Semaphore.make(1)
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      const making = asked(request, answers)
      if (making === undefined) return void response.writeHead(404).end()
      const fiber = run(Effect.map(oneAtATime.withPermit(making), (answer) => write(answer, response)))
      // Who has gone does not want the page any more.
      response.once("close", () => fiber.interruptUnsafe())
    }
    const { address, family, port: opened } = yield* listen({ host: "localhost", port }, { onRequest })
    return `http://${family === "IPv6" ? `[${address}]` : address}:${opened}/`
  })
