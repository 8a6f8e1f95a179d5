import * as Layer from "effect/Layer"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"
import { reductionLaws } from "./ReductionLaws.ts"
import { scanLaws } from "./ScanLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))

describeWith(["webgpu"], "on WebGPU", () => {
  reductionLaws(gpu)
  scanLaws(gpu)
})
