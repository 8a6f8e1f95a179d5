/** A buffer of each step is not destroyed. */
import { provideGpu } from "./gpu.mjs"

provideGpu()
const { default: tgpu } = await import("typegpu")
const { arrayOf, f32 } = await import("typegpu/data")
const root = await tgpu.init()

const step = () => {
  const velocities = root.createBuffer(arrayOf(f32, 1024)).$usage("storage").$name("velocities")
  velocities.write(Array.from({ length: 1024 }, () => 0)) // leaks
  return velocities
}

globalThis.kept = Array.from({ length: 5 }, step)
process.exit(0)
