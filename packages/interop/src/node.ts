/**
 * Watches the WebGPU devices of a Node program that is not ours: `node --import @effect-gpu-pool/interop/node program.mjs`. When the
 * program ends, it says on standard error what was still alive.
 *
 * @since 0.1.0
 */
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { observe } from "./observe/Observe.ts"
import type { Classes } from "./observe/Targets.ts"

/** Where npm `webgpu` of the program is, whose classes its devices have; `undefined` where it is not installed. */
const placeOfWebGpu = (): string | undefined => {
  try {
    return createRequire(join(process.cwd(), "program.js")).resolve("webgpu")
  } catch (error) {
    if ((error as { readonly code?: string }).code === "MODULE_NOT_FOUND") return undefined
    throw error
  }
}

const place = placeOfWebGpu()
if (place === undefined) {
  process.stderr.write("GPU memory: nothing to watch, since npm webgpu is not installed where the program runs.\n")
} else {
  const { globals } = await import(pathToFileURL(place).href) as { readonly globals: Classes }
  const observation = observe(globals)
  process.on("exit", () => {
    const path = process.env["GPU_MEMORY_RECORDING"]
    process.stderr.write(`GPU memory: ${observation.table()}\n`)
    if (path !== undefined && path !== "") writeFileSync(path, observation.recording())
  })
}
