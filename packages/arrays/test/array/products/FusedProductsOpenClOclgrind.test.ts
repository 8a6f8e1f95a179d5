import * as BufferPool from "effect-gpu-pool/BufferPool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { useOclgrind } from "../../../../../test/support/oclgrind.ts"
import { describeWith } from "../../../../../test/support/required.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"

useOclgrind()

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "oclgrind" })))

describeWith(["oclgrind"], "on a second OpenCL platform", () => {
  fusedProductLaws(gpu)
})
