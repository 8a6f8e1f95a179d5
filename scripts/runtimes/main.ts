/**
 * The packed packages on every runtime that docs/runtimes.md names: `npm run runtimes` installs them here, and
 * runs the command and the conformance suite on each, on the host and on the backends that this machine offers. It fails
 * where a runtime is missing, and where a backend is that `EFFECT_GPU_POOL_REQUIRE` names.
 */
import { execFileSync, spawn } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { look, parseRequired } from "../backends.ts"
import { commandOf } from "../package/Command.ts"
import { type FreshInstall, withFreshInstall } from "../package/FreshInstall.ts"
import { packAll } from "../package/Tarballs.ts"

const here = import.meta.dirname

/** Apart from this repository's packages: npm would link one of these Nodes as the one that runs its scripts. */
const install = join(here, "install")

interface Runtime {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
}

const program = (name: string): string => join(install, "node_modules/.bin", name)

const runtimes: ReadonlyArray<Runtime> = [
  { name: "Deno", command: program("deno"), args: ["run", "--allow-all", "--quiet"] },
  { name: "Bun", command: program("bun"), args: [] },
  // two packages with a program of the same name: npm links one of them
  ...["node-22", "node-26"].map((name) => ({
    name,
    command: join(install, "node_modules", name, "bin/node"),
    args: []
  }))
]

interface Job {
  readonly runtime: Runtime
  readonly what: string
  readonly args: ReadonlyArray<string>
}

interface Ending extends Job {
  readonly passed: boolean
  readonly seconds: number
  readonly output: string
}

const run = async (job: Job, cwd: string): Promise<Ending> => {
  const { args, command } = job.runtime
  const started = performance.now()
  const child = spawn(command, [...args, ...job.args], { cwd, stdio: ["ignore", "pipe", "pipe"] })
  const ended = new Promise<string>((resolve) => {
    child.on("error", ({ message }) => resolve(message))
    child.on("close", (code, signal) => resolve(code === 0 ? "" : `ended with ${signal ?? `exit code ${code}`}`))
  })
  const [ending, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  const seconds = Math.round((performance.now() - started) / 1000)
  return ending === ""
    ? { ...job, passed: true, seconds, output: stdout.trim() }
    : { ...job, passed: false, seconds, output: [ending, stdout, stderr].join("\n").trim() }
}

const report = ({ output, passed, runtime, seconds, what }: Ending): void => {
  const line = `  ${runtime.name.padEnd(8)} ${what.padEnd(8)} ${passed ? "ok    " : "FAILED"} ${
    `${seconds} s`.padStart(6)
  }`
  console.log(passed && what === "command" ? line : `${line}  ${output}`)
}

/**
 * Deno sleeps for 10 ms after it has asked whether a mapping is done, so it waits for most of its job on WebGPU, which is the longest and
 * the first. Beside it small machines have cores for two.
 */
const atATime = 3

const runAll = async (jobs: ReadonlyArray<Job>, cwd: string): Promise<ReadonlyArray<Ending>> => {
  const left = [...jobs]
  const endings: Array<Ending> = []
  const work = async (): Promise<void> => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      const ending = await run(job, cwd)
      report(ending)
      endings.push(ending)
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return endings
}

const required = parseRequired(process.env.EFFECT_GPU_POOL_REQUIRE)

const backends = (["webgpu", "opencl"] as const).filter((backend) => {
  const { available, detail } = look(backend)
  if (!available) console.log(`  no ${backend}: ${detail}`)
  if (!available && required.has(backend)) process.exitCode = 1
  return available
})

const jobsOn = (fresh: FreshInstall): ReadonlyArray<Job> => {
  const command = commandOf(fresh, "@effect-gpu-pool/cli")
  const suites = [...backends, "host"].map((backend) => ({ what: backend, args: ["suite.ts", backend] }))
  const jobs = [...suites, { what: "command", args: [command, "devices", "--json"] }]
  return jobs.flatMap(({ args, what }) => runtimes.map((runtime) => ({ runtime, what, args })))
}

execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--silent"], { cwd: install, stdio: "inherit" })
const scratch = mkdtempSync(join(tmpdir(), "effect-gpu-pool-pack-"))
try {
  const endings = await withFreshInstall(packAll(scratch), ["webgpu", "koffi"], (fresh) => {
    copyFileSync(join(here, "suite.ts"), join(fresh.folder, "suite.ts"))
    return runAll(jobsOn(fresh), fresh.folder)
  })
  if (endings.some(({ passed }) => !passed)) process.exitCode = 1
} finally {
  rmSync(scratch, { recursive: true })
}
