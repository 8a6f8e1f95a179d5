/** A process with one device and libraries on it, which runs one case after the other. */
import { create, globals } from "webgpu"
import type { Case } from "./Program.ts"
import { openPrograms, type Order } from "./run.ts"

const gpu = create([])
// What libraries find in a page.
Object.assign(globalThis, globals)
Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true })

process.once("message", async (order: Order) => {
  const run = await openPrograms(gpu, order)
  process.on("message", async (one: Case) => {
    process.send!(await run(one))
  })
  process.once("disconnect", () => process.exit(0))
  process.send!("open")
})
