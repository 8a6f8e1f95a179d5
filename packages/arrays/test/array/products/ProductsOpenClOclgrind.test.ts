import * as BufferPool from "effect-gpu-pool/BufferPool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { useOclgrind } from "../../../../../test/support/oclgrind.ts"
import { describeWith } from "../../../../../test/support/required.ts"
import { convolutionLaws } from "./ConvolutionLaws.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"
import { productLaws } from "./ProductsLaws.ts"

useOclgrind()

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer({ platform: "oclgrind" })))

describeWith(["oclgrind"], "on a second OpenCL platform", () => {
  // a simulator that checks every access takes its time
  productLaws(gpu, { trials: 12, longest: 17 })
  fusedProductLaws(gpu)
  convolutionLaws(gpu, { trials: 8, longest: 17 })
})
