import { BufferPool } from "effect-gpu-pool"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeWith } from "../../../../../test/support/required.ts"
import { semanticsLaws } from "./SemanticsLaws.ts"

const leeway = {
  contracts: true,
  dividesLoosely: true,
  mayLack: ["f16"]
} as const

/** A device that other code has opened, without features, whose WGSL is changed before it is compiled. */
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

/**
 * A fused multiply-add, from the product and the sum with their rounding errors. llvmpipe's `fma` rounds twice, and its
 * compiler simplifies differences of differences unless they pass through bit casts.
 */
const fused = `fn kept__f32(a: f32) -> f32 {
  let bits = bitcast<u32>(a);
  return bitcast<f32>(bits | u32(bits == 0x7f812345u));
}
fn head__f32(a: f32) -> f32 {
  let larger = kept__f32(a * 4097.0f);
  return larger - kept__f32(larger - a);
}
fn fused__f32(c: f32, b: f32, q: f32) -> f32 {
  let b1 = head__f32(b);
  let q1 = head__f32(q);
  let product = kept__f32(b * q);
  let rest = ((b1 * q1 - product) + b1 * (q - q1) + (b - b1) * q1) + (b - b1) * (q - q1);
  let sum = kept__f32(c + product);
  let second = kept__f32(sum - c);
  let more = (c - kept__f32(sum - second)) + (product - second);
  let exact = abs(b) < 1e30f && abs(q) < 1e30f && abs(product) < 1e30f && abs(c) < 1e30f;
  return sum + select(0.0f, more + rest, exact);
}
`

/** As NVIDIA's compiler does: a product and a sum are one step, and a quotient by more than 2^126 is a product with zero. */
const contracted = (wgsl: string): string =>
  wgsl
    .replace("@compute", `${fused}@compute`)
    .replace("return a - product;", "return fused__f32(a, -b, trunc(quotient__f32(a, b)));")
    .replaceAll(/: f32 = (.+) \+ (\w+) \* (\w+);/g, ": f32 = fused__f32($1, $2, $3);")
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
