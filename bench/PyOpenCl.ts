/** PyOpenCL, where a Python on this machine has it. */
import { Schema } from "effect"
import * as PythonScript from "./PythonScript.ts"

const Numbers = Schema.Array(Schema.Finite)

/** Nanoseconds per allocate and release, by round: of a pool's hit (svm: on shared virtual memory), or of an allocator without a pool; or per addition of two arrays. */
export const run = (
  request: { readonly what: "hit" | "svm" | "immediate" | "deferred" | "array"; readonly size: number }
) => PythonScript.run("pyopencl_timing.py", request, Numbers)

/** Milliseconds per product of square matrices, by round. */
export const product = (request: { readonly size: number; readonly rounds: number }) =>
  PythonScript.run("pyopencl_product.py", request, Numbers)
