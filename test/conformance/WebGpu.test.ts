import { Conformance } from "@effect-gpu-pool/testing"
import { afterAll, describe, it } from "@effect/vitest"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { describeWith } from "../support/required.ts"

// a small cache, so that filling it does not take hundreds of compilations
const layer = WebGpu.layer({ kernelCacheCapacity: 4 })

describeWith(["webgpu"], "WebGPU conforms", () => {
  Conformance.register({ describe, it, afterAll }, layer, Conformance.suite(layer))
})
