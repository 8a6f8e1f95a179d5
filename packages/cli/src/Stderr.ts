/**
 * The output of a command is its answer: what else is told stands on stderr.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import process from "node:process"

const redirect = Effect.sync(() => {
  const { stdout } = process
  const { write } = stdout
  stdout.write = process.stderr.write.bind(process.stderr)
  return () => {
    stdout.write = write
  }
})

/** What is printed while the effect runs goes to stderr, by Effect's Console and loggers and by any other code in the process. */
export const onStderr = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(redirect, () => effect, (restore) => Effect.sync(restore))
