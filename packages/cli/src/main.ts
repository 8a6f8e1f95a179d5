#!/usr/bin/env node
/**
 * The command `effect-gpu-pool`. `effect` is a peer dependency, which not every package manager installs: this reports it.
 *
 * @internal
 */
import process from "node:process"

const explain = (cause: unknown): string => {
  const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown }
  const missing = /Cannot find package '([^']+)'/.exec(String(message))?.[1]
  return code === "ERR_MODULE_NOT_FOUND" && missing !== undefined
    ? `effect-gpu-pool: the command needs ${missing}. Install it: npm install ${missing}`
    : `effect-gpu-pool: ${String(cause)}`
}

const start = (): Promise<void> =>
  import("./Program.ts").then(({ run }) => run(process.argv.slice(2)), (cause: unknown) => {
    process.stderr.write(`${explain(cause)}\n`)
    process.exitCode = 1
  })

await start()
