import { describe } from "@effect/vitest"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../test/support/required.ts"
import { integerLaws } from "./IntegerLaws.ts"
import { reductionLaws } from "./ReductionLaws.ts"
import { asGpu } from "./ReductionModel.ts"
import { scanLaws } from "./ScanLaws.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))

describeWith(["webgpu"], "on WebGPU", () => {
  reductionLaws(gpu)
  scanLaws(gpu)
  integerLaws(gpu)

  describe("divided as for a GPU", () => {
    reductionLaws(asGpu(Layer.fresh(gpu)), 70_000)
  })
})
