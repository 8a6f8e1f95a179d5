/**
 * Tries the devices of a backend in a process of its own.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as ChildProcess from "effect/process/ChildProcess"
import * as Stream from "effect/Stream"
import { messageOf } from "../Printable.ts"
import { answerOf } from "./ChildAnswer.ts"
import type { ProbeResult } from "./ProbeResult.ts"

/** The path of the child's program: next to this file, with the same extension. */
const program = new URL(`./tryDevices${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

/** Drivers compile at their first use, which takes seconds. A driver that takes longer than this counts as hanging. */
const timeout = "90 seconds"

/** The results, or a text that says why there are none. */
export const tryBackend = Effect.fn("doctor.tryBackend")(
  function*(name: string) {
    const file = yield* Effect.orDie((yield* Path.Path).fromFileUrl(program))
    const child = yield* ChildProcess.make(process.execPath, [...process.execArgv, file, name], {
      stdin: "ignore",
      killSignal: "SIGKILL"
    })
    const [stdout, stderr, ended] = yield* Effect.all([
      Stream.mkString(Stream.decodeText(child.stdout)),
      Stream.mkString(Stream.decodeText(child.stderr)),
      Effect.match(child.exitCode, {
        // The error names the signal that ended it.
        onFailure: ({ reason }) => ({ code: null, signal: null, problem: messageOf(reason.cause) }),
        onSuccess: (code) => ({ code, signal: null })
      })
    ], { concurrency: "unbounded" })
    const found = answerOf<ProbeResult>({ stdout, stderr, ...ended })
    return "answer" in found ? found.answer : found.why
  },
  Effect.scoped,
  Effect.timeoutOrElse({
    duration: timeout,
    orElse: () => Effect.succeed(`its driver did not answer within ${timeout}`)
  }),
  Effect.catch(({ message }) => Effect.succeed(message))
)
