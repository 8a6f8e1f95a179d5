import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { oclgrindVendors, openClDriversIn } from "../../scripts/backends.ts"
import type { Backend } from "./Backends.ts"
import type { Task } from "./child.ts"
import { type Address, callsPerEpoch } from "./Epoch.ts"
import type { Breach } from "./Verdict.ts"

/** A breach with its address, and the fewest calls of its epoch that were found to cause it. */
export interface Finding {
  readonly address: Address
  readonly id: string
  readonly args: string
  readonly breach: Breach
  readonly calls: ReadonlyArray<number> | undefined
}

export interface Plan {
  readonly backend: Backend
  readonly seed: number
  readonly from: number
  readonly to: number
  readonly only?: ReadonlyArray<number> | undefined
  readonly match?: string | undefined
}

export interface Outcome {
  readonly findings: ReadonlyArray<Finding>
  readonly calls: number
}

/** A process that prints nothing for so long is stuck in one call: the longest calls compile kernels. */
const silenceMillis = 180_000

interface Told {
  readonly address: Address
  readonly id: string
  readonly args?: string
  readonly breach?: Breach
  readonly done?: boolean
}

/** What one process reported, and how it ended. */
interface Ran {
  readonly found: ReadonlyArray<Told & { readonly breach: Breach }>
  readonly last: Told | undefined
  readonly calls: number
  readonly done: boolean
  readonly end: string
  readonly stuck: boolean
}

const program = fileURLToPath(new URL("./child.ts", import.meta.url))

const environment = (backend: Backend): NodeJS.ProcessEnv => {
  // The child gets its own options below, and not those of the test runner's workers.
  const { NODE_OPTIONS: _, ...env } = process.env
  const vendors = backend === "oclgrind" ? oclgrindVendors() : undefined
  return vendors === undefined ? env : { ...env, ...openClDriversIn(vendors) }
}

const runProcess = (task: Task & { readonly backend: Backend }): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ["--conditions=effect-gpu-pool:source", program, JSON.stringify(task)],
      { env: environment(task.backend), stdio: ["ignore", "ignore", "pipe", "pipe"] }
    )
    const found: Array<Told & { readonly breach: Breach }> = []
    let last: Told | undefined
    let done = false
    let calls = 0
    let stuck = false
    let errors = ""
    const giveUp = (): void => {
      stuck = true
      child.kill("SIGKILL")
    }
    let silence = setTimeout(giveUp, silenceMillis)
    child.stderr?.on("data", (text: Buffer) => {
      errors = (errors + text.toString()).slice(-2000)
    })
    createInterface({ input: child.stdio[3] as NodeJS.ReadableStream }).on("line", (line) => {
      clearTimeout(silence)
      silence = setTimeout(giveUp, silenceMillis)
      const told = JSON.parse(line) as Told
      if (told.done === true) done = true
      else if (told.breach !== undefined) found.push({ ...told, breach: told.breach })
      else {
        last = told
        calls++
      }
    })
    child.on("error", reject)
    child.on("close", (code, signal) => {
      clearTimeout(silence)
      const end = `${signal === null ? `exit code ${code}` : `signal ${signal}`}: ${
        errors.trim().split("\n").slice(-4).join(" / ")
      }`
      resolve({ found, last, calls, done, end, stuck })
    })
  })

/** Runs a plan in as many processes as it takes: when one ends, the next continues with the next epoch. */
export const run = async (plan: Plan): Promise<Outcome> => {
  const findings: Array<Finding> = []
  const seen = new Set<string>()
  let calls = 0
  let from = plan.from
  while (from < plan.to) {
    const ran = await runProcess({ ...plan, from })
    calls += ran.calls
    const all = [...ran.found, ...endOf(ran)]
    for (const told of all) {
      const finding = {
        address: told.address,
        id: told.id,
        args: told.args ?? "",
        breach: told.breach,
        calls: undefined
      }
      const key = signatureOf(finding)
      if (seen.has(key)) continue
      seen.add(key)
      findings.push(finding)
    }
    if (ran.done) break
    if (ran.last === undefined) throw new Error(`the fuzzer of ${plan.backend} did not start: ${ran.end}`)
    from = ran.last.address.epoch + 1
  }
  return { findings, calls }
}

/** The end of a process, as a breach of the call that was under way. */
const endOf = ({ done, end, last, stuck }: Ran): ReadonlyArray<Told & { readonly breach: Breach }> =>
  done || last === undefined
    ? []
    : [{
      ...last,
      breach: { kind: stuck ? "hang" : "process", detail: stuck ? "the process is stuck" : end, place: "" }
    }]

const signatureOf = ({ breach, id }: Finding): string =>
  `${breach.kind} ${breach.place === "" ? `${id} ${breach.detail.slice(0, 40)}` : breach.place}`

const breaks = async (finding: Finding, only: ReadonlyArray<number>): Promise<Finding | undefined> => {
  const { backend, epoch, seed } = finding.address
  const again = await run({ backend, seed, from: epoch, to: epoch + 1, only })
  return again.findings.find((one) => one.breach.kind === finding.breach.kind && one.id === finding.id)
}

/** How many processes the search for fewer calls may take. */
const attempts = 16

/** The fewest calls that break the same promise again, as far as a short search finds them. */
export const shrink = async (finding: Finding): Promise<Finding> => {
  const last = finding.address.call
  if (last < callsPerEpoch && await breaks(finding, [last]) !== undefined) return { ...finding, calls: [last] }
  let calls = Array.from({ length: Math.min(last + 1, callsPerEpoch) }, (_, call) => call)
  if (await breaks(finding, calls) === undefined) return finding
  let size = Math.ceil(calls.length / 2)
  for (let attempt = 0; attempt < attempts && size >= 1; attempt++) {
    const fewer = await firstThatBreaks(finding, calls, size)
    if (fewer === undefined) size = Math.floor(size / 2)
    else calls = [...fewer]
  }
  return { ...finding, calls }
}

/** The calls without some `size` consecutive ones, if the rest still causes the breach. */
const firstThatBreaks = async (
  finding: Finding,
  calls: ReadonlyArray<number>,
  size: number
): Promise<ReadonlyArray<number> | undefined> => {
  for (let at = 0; at < calls.length; at += size) {
    const rest = calls.filter((call, index) => call === finding.address.call || index < at || index >= at + size)
    if (rest.length < calls.length && await breaks(finding, rest) !== undefined) return rest
  }
  return undefined
}

/** A finding as text, with the command that repeats it. */
export const format = ({ address, args, breach, calls, id }: Finding): string => {
  const only = calls === undefined ? "" : ` --only=${calls.join(",")}`
  return `${address.backend}: ${id}(${args})\n  ${breach.kind}: ${breach.detail}${
    breach.place === "" ? "" : ` at ${breach.place}`
  }\n  again: npm run fuzz -- --backend=${address.backend} --seed=${address.seed} --epoch=${address.epoch}${only}`
}
