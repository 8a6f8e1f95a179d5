/** PyOpenCL, where a Python on this machine has it. */
import { Effect, Schema } from "effect"
import { join } from "node:path"
import { python } from "../scripts/backends.ts"
import * as ChildProgram from "./ChildProgram.ts"

const script = join(import.meta.dirname, "contenders/pyopencl_timing.py")

/** Nanoseconds per allocate and release, by round: of a pool's hit (svm: on shared virtual memory), or of an allocator without a pool; or per addition of two arrays. */
export const run = (
  request: { readonly what: "hit" | "svm" | "immediate" | "deferred" | "array"; readonly size: number }
) =>
  Effect.suspend(() => {
    const interpreter = python()
    const json = JSON.stringify(request)
    return interpreter === undefined
      ? new ChildProgram.Missing({ why: "PyOpenCL: no python3" })
      : ChildProgram.run(`pyopencl_timing.py ${json}`, interpreter, [script, json], Schema.Array(Schema.Finite))
  })
