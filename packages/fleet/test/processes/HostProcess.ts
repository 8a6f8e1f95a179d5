/** Starts the host processes of a test, and ends them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { HostArguments } from "./HostArguments.ts"

export interface HostProcess {
  readonly pid: number
  readonly signal: (signal: NodeJS.Signals) => void
  /** Until it has ended. */
  readonly ended: Effect.Effect<void>
  /** What it printed. */
  readonly printed: () => string
}

const program = join(import.meta.dirname, "host.ts")

const ended = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) resume(Effect.void)
    else child.once("exit", () => resume(Effect.void))
  })

/** Ends with the scope: it is killed, in whatever state it is. */
export const start = (options: HostArguments) =>
  Effect.acquireRelease(
    Effect.sync((): HostProcess => {
      const child = spawn(
        process.execPath,
        ["--conditions=effect-gpu-pool:source", program, JSON.stringify(Schema.encodeSync(HostArguments)(options))],
        { stdio: ["ignore", "pipe", "pipe"] }
      )
      const pid = child.pid
      if (pid === undefined) throw new Error("the process did not start")
      let printed = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => void (printed += String(data)))
      return { pid, signal: (signal) => void child.kill(signal), ended: ended(child), printed: () => printed }
    }),
    (host) =>
      Effect.suspend(() => {
        host.signal("SIGKILL")
        return host.ended
      })
  )
