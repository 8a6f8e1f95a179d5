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

/** Two arrays of a length: `x` has these values, and `y` their squares, added to the zeros that it begins with. */
export interface Squares {
  readonly read: () => Promise<Float32Array>
  readonly end: () => void
}

/** Makes such arrays on a device. */
export const squaresOn = (device: GPUDevice): (values: Array<number>) => Squares => {
  const root = tgpu.initFromDevice({ device })
  const pipeline = device.createComputePipeline({
    layout: device.createPipelineLayout({ bindGroupLayouts: [root.unwrap(layout)] }),
    compute: { module: device.createShaderModule({ code }) }
  })
  return (values) => {
    const array = d.arrayOf(d.f32, values.length)
    // A value given at its creation would be written by mapping, and such a buffer is not pooled.
    const x = root.createBuffer(array).$usage("storage")
    x.write(values)
    const y = root.createBuffer(array).$usage("storage")
    const encoder = device.createCommandEncoder()
    const pass = encoder.beginComputePass()
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, root.unwrap(root.createBindGroup(layout, { x, y })))
    pass.dispatchWorkgroups(Math.ceil(values.length / 64))
    pass.end()
    device.queue.submit([encoder.finish()])
    return {
      read: async () => Float32Array.from(await y.read()),
      end: () => {
        x.destroy()
        y.destroy()
      }
    }
  }
}

export const stepsOf = (count: number): Workload => async (device) => {
  const squaresOf = squaresOn(device)
  const results: Array<Float32Array> = []
  for (let step = 0; step < count; step++) {
    const squares = squaresOf(Array.from({ length: 64 + step * 397 % 2000 }, (_, at) => (at + step) % 100))
    if (step % 10 === 9) results.push(await squares.read())
    squares.end()
  }
  return results
}

export const workload = stepsOf(200)
