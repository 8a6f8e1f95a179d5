import { BufferPool } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeWith } from "../../support/required.ts"
import { semanticsLaws } from "./SemanticsLaws.ts"

const leeway = { contracts: true, dividesLoosely: true, mayLack: ["f16"] } as const

/** A device that other code has opened, without features, whose compiler makes something of the text. */
const plain = (compiled: (wgsl: string) => string) =>
  Layer.unwrap(Effect.map(
    Effect.acquireRelease(
      WebGpu.WebGpu.use(({ gpu }) => Effect.promise(async () => (await gpu!.requestAdapter())!.requestDevice())),
      (device) => Effect.sync(() => device.destroy())
    ),
    (device) => {
      const make = device.createShaderModule.bind(device)
      device.createShaderModule = (descriptor) => make({ ...descriptor, code: compiled(descriptor.code) })
      return WebGpu.layerFromDevice(device)
    }
  )).pipe(Layer.provide(WebGpu.layer()))

/** The rest of a product that was rounded, so that a difference from it is as if made in one step. llvmpipe's `fma` makes two. */
const restOf = `fn rest__f32(b: f32, q: f32) -> f32 {
  let b1 = b * 4097.0f - (b * 4097.0f - b);
  let q1 = q * 4097.0f - (q * 4097.0f - q);
  return ((b1 * q1 - b * q) + b1 * (q - q1) + (b - b1) * q1) + (b - b1) * (q - q1);
}
`

/** As NVIDIA's compiler does: a product and a difference are one step, and a quotient by more than 2^126 is a product with zero. */
const contracted = (wgsl: string): string =>
  wgsl
    .replace(
      /fn fmod__f32[^}]*}/,
      `${restOf}fn fmod__f32(a: f32, b: f32) -> f32 {
  let whole = trunc(quotient__f32(a, b));
  let rest = select(0.0f, rest__f32(b, whole), abs(b) < 1e30f && abs(whole) < 1e30f && abs(b * whole) < 1e30f);
  return (a - b * whole) - rest;
}`
    )
    .replaceAll(
      /: f32 = (\w+) \/ (\w+);/g,
      ": f32 = select($1 / $2, bitcast<f32>(select(0u, 0x7fc00000u, (bitcast<u32>($1) << 1u) >= 0xff000000u)), abs($2) > 0x1p126f);"
    )

describeWith(["webgpu"], "on WebGPU", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layer())), ["f32", "f16"], leeway)
})

describeWith(["webgpu"], "on WebGPU without f16", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(plain((wgsl) => wgsl))), ["f32", "f16"], {
    ...leeway,
    every: 5
  })
})

describeWith(["webgpu"], "on WebGPU whose compiler takes all that WGSL allows", () => {
  semanticsLaws(BufferPool.layer().pipe(Layer.provideMerge(plain(contracted))), ["f32", "f16"], leeway)
})
