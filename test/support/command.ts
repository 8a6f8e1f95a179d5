/** The command as its users run it: a process of its own, with its exit code and what it prints. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll } from "vitest"

export const main = join(import.meta.dirname, "../../src/cli/main.ts")

/** What this machine's user has chosen is not these tests' affair. */
const chosen = ["GPU_POOL_DEVICE", "PYOPENCL_TEST", "PYOPENCL_CTX", "CUDA_DEVICE"]
const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !chosen.includes(name)))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandTests {
  /** The home of the command's user, empty at first, until the file's tests have ended. */
  readonly home: string
  readonly env: Record<string, string>
  readonly run: (args: ReadonlyArray<string>, env?: Record<string, string>) => Promise<Ended>
}

/** Call it once in a test file. */
export const commandTests = (): CommandTests => {
  const home = mkdtempSync(join(tmpdir(), "effect-gpu-pool-home-"))
  afterAll(() => rmSync(home, { recursive: true }))
  const own = { ...inherited, HOME: home, USERPROFILE: home } as Record<string, string>
  const run = async (args: ReadonlyArray<string>, env: Record<string, string> = {}): Promise<Ended> => {
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...own, ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on("error", reject)
      child.on("close", resolve)
    })
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { code, stdout, stderr }
  }
  return { home, env: own, run }
}
