import * as Layer from "effect/Layer"
import { OpenCl } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { describeWith } from "../support/required.ts"
import { productLaws } from "./ProductsLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layer()))

describeWith(["opencl"], "on OpenCL", () => {
  productLaws(gpu, { trials: 60, longest: 70 })
})
