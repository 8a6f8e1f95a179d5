/** Cases on one device, with several libraries on it. It runs in Node and in pages. */
import { install, type InstallationStats, type InstallOptions } from "@effect-gpu-pool/interop/install"
import { digestOf, openShared } from "../Workload.ts"
import { type LibraryName, openLibrary } from "./libraries.ts"
import { type Case, type Library, runProgram, Turns } from "./Program.ts"

export interface Order {
  readonly libraries: ReadonlyArray<LibraryName>
  /** Whether each program runs after the other, instead of in turns. */
  readonly alone: boolean
  /** Of the pool under the device; none without them. */
  readonly options: InstallOptions | undefined
}

export interface Answer {
  /** Digests of the results of each program. */
  readonly results: ReadonlyArray<ReadonlyArray<string>>
  /** Errors that no scope of a program has caught. */
  readonly errors: ReadonlyArray<string>
  readonly stats: InstallationStats | undefined
}

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

/** Opens a device and the libraries; gives what runs one case. */
export const openPrograms = async (
  gpu: GPU,
  { alone, libraries: names, options }: Order
): Promise<(one: Case) => Promise<Answer>> => {
  const device = await openShared(gpu)
  const errors: Array<string> = []
  device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message))
  const installation = options === undefined ? undefined : install(device, options)
  const libraries: Array<Library> = []
  for (const name of names) libraries.push(await openLibrary[name](device))
  return async (one) => {
    const results = await (alone ? runAlone : runTogether)(libraries, one)
    // Errors of what was submitted arrive before this.
    await device.queue.onSubmittedWorkDone()
    return {
      results: await Promise.all(results.map((ofOne) => Promise.all(ofOne.map(digestOf)))),
      errors: errors.splice(0),
      stats: installation?.stats()
    }
  }
}
