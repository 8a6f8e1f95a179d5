import { BufferPool } from "effect-gpu-pool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { useOclgrind } from "../../../../../test/support/oclgrind.ts"
import { describeWith } from "../../../../../test/support/required.ts"
import { semanticsLaws } from "./SemanticsLaws.ts"

useOclgrind()

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "oclgrind" })))

// a simulator that checks every access takes its time
describeWith(["oclgrind"], "on a second OpenCL platform", () => {
  semanticsLaws(gpu, ["f32", "f64"], { every: 5, roundsTwice: true })
})
