/** onnxruntime-web: a KV cache that grows. */
import type { Tensor, TensorConstructor } from "onnxruntime-web"
import { attention, openSession, read, width } from "./Onnx.ts"
import { encode } from "./OnnxModel.ts"
import { random, randomValues } from "./Random.ts"
import { inSteps, type Workload } from "./Workload.ts"

/** A tensor on the device that the program writes again and again. */
const input = (device: GPUDevice, ort: { readonly Tensor: TensorConstructor }, rows: number) => {
  const buffer = device.createBuffer({
    size: 4 * rows * width,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST
  })
  const tensor = ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: [rows, width] })
  return { tensor, write: (values: Float32Array<ArrayBuffer>) => device.queue.writeBuffer(buffer, 0, values) }
}

const promptLength = 512

/** Decoding, token by token: after 512 tokens the keys and values of usually 24 layers, 48 tensors, grow by one row each. */
export const workload: Workload = async (device, course, stepped) => {
  const { layers = 24 } = course
  const { ort, session } = await openSession(device, encode(attention(layers, true)), course)
  const next = random(4)
  const x = input(device, ort, 1)
  let past: Record<string, Tensor> = Object.fromEntries(
    session.inputNames.filter((name) => name.startsWith("past_")).map((name) => [
      name,
      new ort.Tensor("float32", randomValues(promptLength * width, next, 1), [promptLength, width])
    ])
  )
  return await inSteps(course, stepped, async () => {
    x.write(randomValues(width, next, 1))
    const { y, ...present } = await session.run({ x: x.tensor, ...past }) as Record<string, Tensor>
    for (const tensor of Object.values(past)) tensor.dispose()
    past = Object.fromEntries(
      Object.entries(present).map(([name, tensor]) => [name.replace("present", "past"), tensor])
    )
    return await read(y!)
  })
}
