import * as BufferPool from "effect-gpu-pool/BufferPool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { fusedProductLaws } from "./FusedProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))

describeWith(["webgpu"], "on WebGPU", () => {
  fusedProductLaws(gpu)
})
