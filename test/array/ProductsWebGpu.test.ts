import * as Layer from "effect/Layer"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"
import { productLaws } from "./ProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))

describeWith(["webgpu"], "on WebGPU", () => {
  productLaws(gpu, { trials: 60, longest: 70 })
})
