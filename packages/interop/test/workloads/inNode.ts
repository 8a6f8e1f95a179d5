/** Workloads in processes of their own: most libraries keep one device for as long as their process runs. */
import type { InstallOptions } from "@effect-gpu-pool/interop/install"
import { fork } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { pathToFileURL } from "node:url"
import type { Course, Run } from "./Workload.ts"

/** What the process is told. */
export interface Order {
  /** The address of a module whose `workload` is one. */
  readonly module: string
  readonly options: InstallOptions | undefined
  readonly course: Course | undefined
}

/** Runs `workload` of a file of this folder on Dawn, with a pool where there are options of one. */
export const inNode = async (file: string, options?: InstallOptions, course?: Course): Promise<Run> => {
  const order: Order = { module: pathToFileURL(join(import.meta.dirname, file)).href, options, course }
  const child = fork(join(import.meta.dirname, "child.ts"), {
    // Not those of the test runner.
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    serialization: "advanced"
  })
  let run: Run | undefined
  child.on("message", (message: Run) => {
    run = message
  })
  const ended = new Promise<string>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code, signal) => resolve(String(code ?? signal)))
  })
  child.send(order)
  const [code, stderr] = await Promise.all([ended, text(child.stderr!)])
  if (code !== "0" || run === undefined) throw new Error(`${file} ended with ${code}:\n${stderr}`)
  return run
}
