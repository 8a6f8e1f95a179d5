/** TypeGPU: two arrays a step, of lengths that vary. Each tenth step reads its result. */
import { d, tgpu } from "typegpu"
import type { Workload } from "./Workload.ts"

const code = /* wgsl */ `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // The arrays' lengths are those of their buffers; y was not written, so it is zero.
  if (id.x < arrayLength(&y)) { y[id.x] += x[id.x] * x[id.x] + f32(arrayLength(&x)); }
}
`

const layout = tgpu.bindGroupLayout({
  x: { storage: d.arrayOf(d.f32), access: "readonly" },
  y: { storage: d.arrayOf(d.f32), access: "mutable" }
})

export const stepsOf = (count: number): Workload => async (device) => {
  const root = tgpu.initFromDevice({ device })
  const pipeline = device.createComputePipeline({
    layout: device.createPipelineLayout({ bindGroupLayouts: [root.unwrap(layout)] }),
    compute: { module: device.createShaderModule({ code }) }
  })
  const results: Array<Float32Array> = []
  for (let step = 0; step < count; step++) {
    const length = 64 + step * 397 % 2000
    const array = d.arrayOf(d.f32, length)
    // A value given at its creation would be written by mapping, and such a buffer is not pooled.
    const x = root.createBuffer(array).$usage("storage")
    x.write(Array.from({ length }, (_, at) => (at + step) % 100))
    const y = root.createBuffer(array).$usage("storage")
    const bindings = root.unwrap(root.createBindGroup(layout, { x, y }))
    const encoder = device.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, bindings)
    pass.dispatchWorkgroups(Math.ceil(length / 64))
    pass.end()
    device.queue.submit([encoder.finish()])
    if (step % 10 === 9) results.push(Float32Array.from(await y.read()))
    x.destroy()
    y.destroy()
  }
  return results
}

export const workload = stepsOf(200)
