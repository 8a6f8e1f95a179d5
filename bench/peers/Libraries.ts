/** Programs of other libraries, which the tests compare by their bits as well: each with the library's own manager of buffers, and with ours. */
import { Schema } from "effect"
import type { Course, Workload } from "../../packages/interop/test/workloads/Workload.ts"

export const Name = Schema.Literals([
  "TensorFlow.js: 300 prompts",
  "TensorFlow.js: 40 images",
  "onnxruntime-web: KV cache, 32 tokens",
  "onnxruntime-web: 24 texts",
  "jax-js: 12 arrays of 4 to 8 MiB",
  "TypeGPU: 200 steps",
  "three.js: 60 frames"
])

export type Name = typeof Name.Type

/** `own`: as the library is. `ours`: a pool under the device, and the library told, where it can be, to keep nothing for itself. */
export const Manager = Schema.Literals(["own", "ours"])

export type Manager = typeof Manager.Type

interface Program {
  readonly workload: Workload
  readonly steps: number
}

const folder = "../../packages/interop/test/workloads"

const of = async (file: string, steps: number): Promise<Program> => {
  const { workload } = await import(`${folder}/${file}.ts`) as { readonly workload: Workload }
  return { workload, steps }
}

const programs: { readonly [N in Name]: () => Promise<Program> } = {
  "TensorFlow.js: 300 prompts": () => of("tensorflowPrompts", 300),
  "TensorFlow.js: 40 images": () => of("tensorflowImages", 40),
  "onnxruntime-web: KV cache, 32 tokens": () => of("onnxCache", 32),
  "onnxruntime-web: 24 texts": () => of("onnxLengths", 24),
  "jax-js: 12 arrays of 4 to 8 MiB": () => of("jax", 12),
  "TypeGPU: 200 steps": () => of("typegpu", 200),
  "three.js: 60 frames": async () => {
    const { framesOf } = await import("../../packages/interop/test/workloads/three.ts")
    return { workload: framesOf(60), steps: 60 }
  }
}

/** Libraries look for a GPU when they are loaded, so one is there before. */
export const load = async (
  name: Name,
  manager: Manager
): Promise<{ readonly workload: Workload; readonly course: Course }> => {
  const { steps, workload } = await programs[name]()
  return { workload, course: { steps, passesThrough: manager === "ours", keeps: manager === "own" } }
}
