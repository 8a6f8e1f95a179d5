import { BufferPool } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../test/support/required.ts"
import { elementwiseLaws } from "./ElementwiseLaws.ts"

describeWith(["webgpu"], "on WebGPU", () => {
  elementwiseLaws(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())))
})
