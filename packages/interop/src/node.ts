/**
 * Watches the WebGPU devices of a Node program that is not ours: `node --import @effect-gpu-pool/interop/node program.mjs`. When the
 * program ends, it says on standard error what was still alive. Whatever happens to it, the program goes on, and ends with its own code.
 *
 * @since 0.1.0
 */
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { type Observation, observe } from "./observe/Observation.ts"
import type { Classes } from "./observe/Targets.ts"

const say = (text: string): void => {
  process.stderr.write(`GPU memory: ${text}\n`)
}

/** Where npm `webgpu` of the program is, whose classes its devices have; `undefined` where it is not installed. */
const placeOfWebGpu = (): string | undefined => {
  const folder = join(process.cwd(), "program.js")
  for (const program of [process.argv[1] ?? folder, folder]) {
    try {
      return createRequire(program).resolve("webgpu")
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "MODULE_NOT_FOUND") throw error
    }
  }
  return undefined
}

const report = (observation: Observation): void => {
  say(observation.table())
  const path = process.env["GPU_MEMORY_RECORDING"]
  if (path === undefined || path === "") return
  try {
    writeFileSync(path, observation.recording())
  } catch (error) {
    say(`the recording could not be written to GPU_MEMORY_RECORDING: ${String(error)}`)
  }
}

const watch = async (): Promise<void> => {
  const place = placeOfWebGpu()
  if (place === undefined) {
    say("nothing to watch, since npm webgpu is found neither from the program's file nor from the working directory.")
    return
  }
  const { globals } = await import(pathToFileURL(place).href) as { readonly globals: Classes }
  const observation = observe(globals)
  process.on("exit", () => report(observation))
}

try {
  await watch()
} catch (error) {
  say(`nothing is watched, since npm webgpu could not be loaded: ${String(error)}`)
}
