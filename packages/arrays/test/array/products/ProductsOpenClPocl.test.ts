import * as BufferPool from "effect-gpu-pool/BufferPool"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { convolutionLaws } from "./ConvolutionLaws.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"
import { productLaws } from "./ProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer()))

describeWith(["opencl"], "on OpenCL", () => {
  productLaws(gpu, { trials: 60, longest: 70 })
  fusedProductLaws(gpu)
  convolutionLaws(gpu, { trials: 14, longest: 40 })
})
