/**
 * Runs the command in the tests' process with a fake terminal, which takes a second less than a process of its own.
 * Tests of exits, signals and pipes use real processes instead.
 */
import * as NodeChildProcessSpawner from "@effect/platform-node/NodeChildProcessSpawner"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { TerminalCapabilities } from "effect/cli/TerminalCapabilities"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { format } from "node:util"
import { afterAll } from "vitest"
import { chosen, type Ended } from "../../../test/support/command.ts"
import { program } from "../src/Program.ts"

const noTerminal = Terminal.make({
  columns: Effect.succeed(0),
  rows: Effect.succeed(0),
  size: Effect.die("no command follows the size"),
  readInput: Effect.die("no command reads keys"),
  readLine: Effect.die("no command reads lines"),
  display: () => Effect.void
})

const platform = (args: ReadonlyArray<string>, input: string) =>
  Layer.mergeAll(
    Layer.provideMerge(NodeChildProcessSpawner.layer, Layer.merge(NodeFileSystem.layer, NodePath.layer)),
    Stdio.layerTest({ args: Effect.succeed(args), stdin: Stream.make(new TextEncoder().encode(input)) }),
    Layer.succeed(Terminal.Terminal, noTerminal)
  )

/** With variables, only one command can run at a time, because a process has one environment. */
const run = async (args: ReadonlyArray<string>, input = "", env: Record<string, string> = {}): Promise<Ended> => {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, env)
  try {
    return await runWithin(args, input)
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

const runWithin = async (args: ReadonlyArray<string>, input: string): Promise<Ended> => {
  let [stdout, stderr] = ["", ""]
  const printed: Console.Console = {
    ...globalThis.console,
    log: (...values) => void (stdout += `${format(...values)}\n`),
    error: (...values) => void (stderr += `${format(...values)}\n`)
  }
  const exit = await program.pipe(
    Effect.provide(platform(args, input)),
    Effect.provideService(Console.Console, printed),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv()),
    Effect.provideService(TerminalCapabilities, { canColor: false, canAnimate: false, canPrompt: false }),
    Effect.runPromiseExit
  )
  let code: number | null = null
  Runtime.defaultTeardown(exit, (found) => void (code = found))
  return { code, stdout, stderr }
}

/**
 * Call it once in a test file. The file's tests run in one process of their own, in the folder `home`, which is empty
 * at first and removed after them.
 */
export const commandInProcess = () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "effect-gpu-pool-home-")))
  const before = process.cwd()
  process.chdir(home)
  for (const name of chosen) delete process.env[name]
  afterAll(() => {
    process.chdir(before)
    rmSync(home, { recursive: true })
  })
  return { home, run }
}
