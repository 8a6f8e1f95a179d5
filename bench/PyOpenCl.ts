/** PyOpenCL, where a Python on this machine has it. */
import { Effect, Schema } from "effect"
import { join } from "node:path"
import { python } from "../scripts/backends.ts"
import * as ChildProgram from "./ChildProgram.ts"

/** Runs a script of `contenders`, which answers with numbers. */
const runScript = (file: string, request: object) =>
  Effect.suspend(() => {
    const interpreter = python()
    const json = JSON.stringify(request)
    return interpreter === undefined
      ? new ChildProgram.Missing({ why: "PyOpenCL: no python3" })
      : ChildProgram.run(
        `${file} ${json}`,
        interpreter,
        [join(import.meta.dirname, "contenders", file), json],
        Schema.Array(Schema.Finite)
      )
  })

/** Nanoseconds per allocate and release, by round: of a pool's hit (svm: on shared virtual memory), or of an allocator without a pool; or per addition of two arrays. */
export const run = (
  request: { readonly what: "hit" | "svm" | "immediate" | "deferred" | "array"; readonly size: number }
) => runScript("pyopencl_timing.py", request)

/** Milliseconds per product of square matrices, by round. */
export const product = (request: { readonly size: number; readonly rounds: number }) =>
  runScript("pyopencl_product.py", request)
