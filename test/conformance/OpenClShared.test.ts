import { Conformance } from "@effect-gpu-pool/testing"
import { OpenCl } from "effect-gpu-pool/opencl"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeWith } from "../support/required.ts"
import { otherCode } from "../support/sharedHandles.ts"
import { conformsToo } from "./conforms.ts"

// a small cache, so that filling it does not take hundreds of compilations
const layer = Layer.unwrap(
  Effect.map(otherCode, ({ handles }) => OpenCl.layerFromHandles(handles, { kernelCacheCapacity: 4 }))
)

/** Left out: kernels take long to compile here, and checks before any driver call are the same on all devices. */
const elsewhere = /^(?:arrays|expressions|bad |wrong )/

describeWith(["opencl"], "OpenCL conforms on a context and a queue that other code has made", () => {
  const suite = Conformance.suite(layer).filter(({ group }) => !elsewhere.test(group))
  conformsToo(layer, suite, 0.25)
})
