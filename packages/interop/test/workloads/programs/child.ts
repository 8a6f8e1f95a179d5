/** A process with one device and libraries on it, which runs one case after the other. */
import { install } from "@effect-gpu-pool/interop/install"
import { create, globals } from "webgpu"
import { digestOf, openShared } from "../Workload.ts"
import type { Answer, Order } from "./inNode.ts"
import { openLibrary } from "./libraries.ts"
import { type Case, type Library, runProgram, Turns } from "./Program.ts"

const gpu = create([])
// What libraries find in a page.
Object.assign(globalThis, globals)
Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true })

type Results = ReadonlyArray<ReadonlyArray<ArrayBufferView>>

const runAlone = async (libraries: ReadonlyArray<Library>, { programs }: Case): Promise<Results> => {
  const results: Array<ReadonlyArray<ArrayBufferView>> = []
  for (const [at, library] of libraries.entries()) {
    results.push(await runProgram(library, programs[at]!, async () => {}))
  }
  return results
}

const runTogether = (libraries: ReadonlyArray<Library>, { programs, turns: choices }: Case): Promise<Results> => {
  const turns = new Turns(libraries.length, choices)
  return Promise.all(
    libraries.map((library, at) => runProgram(library, programs[at]!, () => turns.pause(at)).finally(() => turns.end()))
  )
}

process.once("message", async ({ alone, libraries: names, options }: Order) => {
  const device = await openShared(gpu)
  const errors: Array<string> = []
  device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message))
  const installation = options === undefined ? undefined : install(device, options)
  const libraries: Array<Library> = []
  for (const name of names) libraries.push(await openLibrary[name](device))
  process.on("message", async (one: Case) => {
    const results = await (alone ? runAlone : runTogether)(libraries, one)
    await device.queue.onSubmittedWorkDone()
    const answer: Answer = {
      results: await Promise.all(results.map((ofOne) => Promise.all(ofOne.map(digestOf)))),
      errors: errors.splice(0),
      stats: installation?.stats()
    }
    process.send!(answer)
  })
  process.once("disconnect", () => process.exit(0))
  process.send!("open")
})
