import { BufferPool } from "effect-gpu-pool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { semanticsLaws } from "./SemanticsLaws.ts"

describeWith(["opencl"], "on OpenCL", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer())), ["f32", "f64"], { dividesLoosely: true })
})
