import { BufferPool } from "effect-gpu-pool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../test/support/required.ts"
import { elementwiseLaws } from "./ElementwiseLaws.ts"

describeWith(["opencl"], "on OpenCL", () => {
  elementwiseLaws(BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer())))
})
