/**
 * Tries the devices of a backend in a process of its own.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { fork } from "node:child_process"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { answerOf, type Ended } from "./ChildAnswer.ts"
import type { Tried } from "./Tried.ts"

/** Beside this file, which has the same ending. */
const program = fileURLToPath(
  new URL(`./tryDevices${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)
)

/** Drivers compile at their first use, which takes seconds; one that takes longer than this hangs. */
const patience = "90 seconds"

const ran = (name: string): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    const child = fork(program, [name], { stdio: ["ignore", "pipe", "pipe", "ipc"] })
    const output = Promise.all([child.stdout, child.stderr].map((stream) => stream === null ? "" : text(stream)))
    const end = (ended: Omit<Ended, "stderr" | "stdout">) =>
      void output.then(([stdout = "", stderr = ""]) => resume(Effect.succeed({ stdout, stderr, ...ended })))
    child.once("error", ({ message }) => end({ code: null, signal: null, problem: message }))
    child.once("close", (code, signal) => end({ code, signal }))
    return Effect.sync(() => {
      child.kill("SIGKILL")
    })
  })

/** What came of it; a text says why nothing did. */
export const tryBackend = (name: string): Effect.Effect<Tried | string> =>
  ran(name).pipe(
    Effect.map((ended) => {
      const found = answerOf<Tried>(ended)
      return "answer" in found ? found.answer : found.why
    }),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.succeed(`its driver did not answer within ${patience}`)
    })
  )
