import { Conformance } from "@effect-gpu-pool/testing"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeWith } from "../support/required.ts"
import { conformsToo } from "./conforms.ts"

/** A device as other code opens it, with the limits that every device has and without features. */
const device = Effect.acquireRelease(
  WebGpu.WebGpu.use(({ gpu }) =>
    Effect.promise(async () => (await gpu!.requestAdapter())!.requestDevice({ label: "other code's" }))
  ),
  (device) => Effect.sync(() => device.destroy())
)

// a small cache, so that filling it does not take hundreds of compilations
const layer = Layer.unwrap(Effect.map(device, (device) => WebGpu.layerFromDevice(device, { kernelCacheCapacity: 4 })))
  .pipe(Layer.provide(WebGpu.layer()))

describeWith(["webgpu"], "WebGPU conforms on a device that other code has opened", () => {
  conformsToo(layer, Conformance.suite(layer), 0.25)
})
