/** The command as its users run it: a process of its own, with its exit code and what it prints. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { text } from "node:stream/consumers"
import { afterAll } from "vitest"

export const main = join(import.meta.dirname, "../../packages/cli/src/main.ts")

/** The variables with the user's own selections, which tests must not inherit. */
export const chosen = ["GPU_POOL_DEVICE", "PYOPENCL_TEST", "PYOPENCL_CTX", "CUDA_DEVICE", "NO_COLOR", "FORCE_COLOR"]
const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !chosen.includes(name)))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A running command, with the lines that it prints. */
export interface Going {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly stdout: AsyncIterator<string>
  readonly stderr: AsyncIterator<string>
  readonly ended: Promise<number | null>
}

export interface CommandTests {
  /** The user's home and the command's working directory: empty at first, removed after the file's tests. */
  readonly home: string
  readonly env: Record<string, string>
  /** Runs the command with `input`, or nothing, on its standard input. */
  readonly run: (args: ReadonlyArray<string>, env?: NodeJS.ProcessEnv, input?: string) => Promise<Ended>
  /** Starts the command. Kill its child, or wait for its end. */
  readonly start: (args: ReadonlyArray<string>, env?: NodeJS.ProcessEnv) => Going
}

const linesOf = (input: Readable) => createInterface({ input })[Symbol.asyncIterator]()

/** Call it once in a test file. */
export const commandTests = (): CommandTests => {
  const home = mkdtempSync(join(tmpdir(), "effect-gpu-pool-home-"))
  afterAll(() => rmSync(home, { recursive: true }))
  const own = { ...inherited, HOME: home, USERPROFILE: home } as Record<string, string>
  const begin = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}, input = "") => {
    const child = spawn(process.execPath, [main, ...args], { env: { ...own, ...env }, cwd: home })
    child.stdin.end(input)
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject)
      child.on("close", resolve)
    })
    return { child, ended }
  }
  const run: CommandTests["run"] = async (args, env, input) => {
    const { child, ended } = begin(args, env, input)
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { code, stdout, stderr }
  }
  const start: CommandTests["start"] = (args, env) => {
    const { child, ended } = begin(args, env)
    return { child, ended, stdout: linesOf(child.stdout), stderr: linesOf(child.stderr) }
  }
  return { home, env: own, run, start }
}
