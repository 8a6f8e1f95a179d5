/** An array of each step is not disposed. */
import { provideGpu } from "./gpu.mjs"

provideGpu()
const { defaultDevice, init, numpy } = await import("@jax-js/jax")
await init("webgpu")
defaultDevice("webgpu")

const forward = (x) => numpy.square(x.ref) // leaks

const x = numpy.array(new Float32Array(1024))
globalThis.kept = Array.from({ length: 5 }, () => forward(x))
process.exit(0)
