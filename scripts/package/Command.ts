/** The command where nothing is installed but its package and what that must have. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import type { FreshInstall } from "./FreshInstall.ts"

interface Expectation {
  readonly args: ReadonlyArray<string>
  readonly code: number
  readonly says: ReadonlyArray<string>
}

const expectations = (version: string): ReadonlyArray<Expectation> => [
  { args: ["--help"], code: 0, says: ["USAGE", "devices"] },
  { args: ["--version"], code: 0, says: [version] },
  { args: ["devices"], code: 0, says: ["process memory"] },
  { args: ["devices", "--json"], code: 0, says: ["npm install webgpu", "npm install koffi"] },
  { args: ["devices", "--select", "host"], code: 0, says: ["host:0:0"] },
  { args: ["devices", "--select", "opencl"], code: 1, says: ["npm install koffi"] },
  { args: ["devices", "--verbose", "--select", "host"], code: 0, says: ["max buffer size"] },
  { args: ["doctor"], code: 2, says: ["npm install webgpu", "npm install koffi", "process memory"] },
  { args: ["bench", "--select", "host"], code: 0, says: ["with the pool", "GB/s"] },
  { args: ["top", "--port", "-1"], code: 1, says: ["a port from 1 to 65535"] },
  { args: ["devices", "--yaml"], code: 1, says: ["--yaml"] },
  { args: ["device"], code: 1, says: ["device"] }
]

/** Of packages that are no part of a fresh install, one that is found would hide that the command needs it. */
const optional = ["koffi", "webgpu"]

const chosen = ["GPU_POOL_DEVICE", "PYOPENCL_TEST", "PYOPENCL_CTX", "CUDA_DEVICE"]

const run = ({ folder }: FreshInstall, args: ReadonlyArray<string>) => {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !chosen.includes(name)))
  const env = { ...inherited, HOME: folder, USERPROFILE: folder, NO_COLOR: "1" }
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: folder, env, encoding: "utf8" })
  return { code: status, output: stdout + stderr }
}

const problemsOf = (install: FreshInstall, file: string, { args, code, says }: Expectation): ReadonlyArray<string> => {
  const ended = run(install, [file, ...args])
  const missing = says.filter((text) => !ended.output.includes(text)).map((text) => `does not say "${text}"`)
  const problems = ended.code === code ? missing : [`ends with the exit code ${ended.code}, not ${code}`, ...missing]
  return problems.map((problem) => `effect-gpu-pool ${args.join(" ")} ${problem}:\n${ended.output}`)
}

/** The file that npm runs as the command of a package. */
export const commandOf = (install: FreshInstall, name: string): string =>
  join(install.home(name), install.manifest(name).bin?.["effect-gpu-pool"] ?? "")

export const commandProblems = (install: FreshInstall, name: string): ReadonlyArray<string> => [
  ...optional.filter((name) => run(install, ["--input-type=module", "-e", `await import("${name}")`]).code === 0)
    .map((name) => `${name} is found in an empty folder, so this proves nothing`),
  ...expectations(install.manifest(name).version).flatMap((expectation) =>
    problemsOf(install, commandOf(install, name), expectation)
  )
]
