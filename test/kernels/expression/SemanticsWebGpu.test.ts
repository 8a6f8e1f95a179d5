import { BufferPool } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeWith } from "../../support/required.ts"
import { semanticsLaws } from "./SemanticsLaws.ts"

const leeway = { contracts: true, dividesLoosely: true, mayLack: ["f16"] } as const

/** A device that other code has opened, without features. */
const plain = Layer.unwrap(Effect.map(
  Effect.acquireRelease(
    WebGpu.WebGpu.use(({ gpu }) => Effect.promise(async () => (await gpu!.requestAdapter())!.requestDevice())),
    (device) => Effect.sync(() => device.destroy())
  ),
  (device) => WebGpu.layerFromDevice(device)
)).pipe(Layer.provide(WebGpu.layer()))

describeWith(["webgpu"], "on WebGPU", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())), ["f32", "f16"], leeway)
})

describeWith(["webgpu"], "on WebGPU without f16", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(plain)), ["f32", "f16"], { ...leeway, every: 5 })
})
