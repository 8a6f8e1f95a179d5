/**
 * The output of a command is its answer: what else is told stands on stderr.
 *
 * @internal
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as NodeConsole from "node:console"
import process from "node:process"

const console = new NodeConsole.Console(process.stderr)

/** What the effect prints by Effect's Console and loggers goes to stderr. */
export const onStderr: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.provideService(
  Console.Console,
  console
)
