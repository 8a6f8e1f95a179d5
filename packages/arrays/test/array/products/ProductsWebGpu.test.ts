import * as BufferPool from "effect-gpu-pool/BufferPool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { convolutionLaws } from "./ConvolutionLaws.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"
import { productLaws } from "./ProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))

describeWith(["webgpu"], "on WebGPU", () => {
  productLaws(gpu, { trials: 60, longest: 70 })
  fusedProductLaws(gpu)
  convolutionLaws(gpu, { trials: 14, longest: 40 })
})
