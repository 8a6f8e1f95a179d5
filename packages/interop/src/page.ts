/**
 * Watches the WebGPU devices of a page that is already running: a script without imports, for a bookmarklet or the console of the developer
 * tools. It puts the observation at `gpuMemory`, where the console finds it.
 *
 * @since 0.1.0
 */
import { Observation } from "./observe/Observation.ts"
import type { Classes } from "./observe/Targets.ts"

/**
 * The observation of a page, at `gpuMemory`.
 *
 * @category models
 * @since 0.1.0
 */
export interface PageObservation extends Observation {
  /** Downloads the recording as a file, which `effect-gpu-pool view` shows. Only where the page has a document: not in a worker. */
  readonly save: (name?: string) => void
}

class SavingObservation extends Observation implements PageObservation {
  readonly save = (name = "gpu-memory.jsonl"): void => {
    const link = document.createElement("a")
    link.href = URL.createObjectURL(new Blob([this.recording()], { type: "application/jsonl" }))
    link.download = name
    link.click()
    // Browsers may begin to read it only after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  }
}

declare global {
  /** What watches the devices of this page, since its script was loaded. */
  var gpuMemory: PageObservation | undefined
}

const page: Partial<Classes> = globalThis

if (page.GPUDevice === undefined) {
  console.warn(
    "GPU memory: nothing to watch, since this page has no WebGPU. Use a browser with WebGPU, and an address with https:."
  )
} else if (globalThis.gpuMemory === undefined) {
  globalThis.gpuMemory = new SavingObservation({ GPUDevice: page.GPUDevice })
  console.info("GPU memory: watching. Ask gpuMemory.table(), and gpuMemory.save() for a recording.")
}
