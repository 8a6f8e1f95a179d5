import * as BufferPool from "effect-gpu-pool/BufferPool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { asGpu } from "../../kernels/ReductionModel.ts"
import { onEveryBackend } from "../ArrayBackends.ts"
import { arrayReductionLaws } from "./ArrayReductionLaws.ts"

onEveryBackend((gpu) => arrayReductionLaws(gpu, { trials: 40, longest: Infinity }))

describeWith(["webgpu"], "on WebGPU, divided as for a GPU", () => {
  const gpu = BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer()))
  arrayReductionLaws(asGpu(gpu), { trials: 10, longest: 300_000 })
})
