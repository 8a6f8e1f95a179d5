import { Conformance } from "@effect-gpu-pool/testing"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { describeWith } from "../support/required.ts"
import { conforms } from "./conforms.ts"

// a small cache, so that filling it does not take hundreds of compilations
const layer = WebGpu.layer({ kernelCacheCapacity: 4 })

describeWith(["webgpu"], "WebGPU conforms", () => {
  conforms(layer, Conformance.suite(layer))
})
