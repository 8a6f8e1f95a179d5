/** A tensor of each step is not disposed. */
import { provideGpu } from "./gpu.mjs"

provideGpu()
const tf = await import("@tensorflow/tfjs-core")
await import("@tensorflow/tfjs-backend-webgpu")
await tf.setBackend("webgpu")

const classify = (input) => tf.square(input) // leaks

const input = tf.tensor1d(new Float32Array(1024))
globalThis.kept = Array.from({ length: 5 }, () => classify(input))
process.exit(0)
