/** A process that runs one workload on Dawn, and sends what it did. */
import { create, globals } from "webgpu"
import type { Order } from "./inNode.ts"
import { measure, type Workload } from "./Workload.ts"

const gpu = create([])
// What libraries find in a page.
Object.assign(globalThis, globals)
Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true })

process.once("message", async ({ course, module, options }: Order) => {
  const { workload } = await import(module) as { readonly workload: Workload }
  const run = await measure(gpu, workload, options, course)
  // Libraries have workers and timers; the device ends with the process.
  process.send!(run, () => process.exit(0))
})
