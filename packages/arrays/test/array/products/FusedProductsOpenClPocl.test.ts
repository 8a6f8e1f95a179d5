import * as BufferPool from "effect-gpu-pool/BufferPool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer()))

describeWith(["opencl"], "on OpenCL", () => {
  fusedProductLaws(gpu)
})
