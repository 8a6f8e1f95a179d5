import { BufferPool } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../../support/required.ts"
import { semanticsLaws } from "./SemanticsLaws.ts"

describeWith(["webgpu"], "on WebGPU", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())), ["f32", "f16"], { contracts: true })
})
