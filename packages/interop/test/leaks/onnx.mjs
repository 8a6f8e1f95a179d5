/** An output of each run stays on the device and is not disposed. */
import { provideGpu } from "./gpu.mjs"

const gpu = provideGpu()
const { InferenceSession, Tensor } = await import("onnxruntime-web/webgpu")
const adapter = await gpu.requestAdapter()
const device = await adapter.requestDevice()

/** A model as ONNX writes it: a protocol buffer of numbers and of nested fields. */
const varint = (value) => value < 128 ? [value] : [value & 127 | 128, ...varint(value >> 7)]
const number = (field, value) => [...varint(field << 3), ...varint(value)]
const nested = (field, bytes) => [...varint(field << 3 | 2), ...varint(bytes.length), ...bytes]
const text = (field, value) => nested(field, new TextEncoder().encode(value))
const vector = (name) => [
  ...text(1, name),
  ...nested(2, nested(1, [...number(1, 1), ...nested(2, nested(1, number(1, 1024)))]))
]
const add = [...text(1, "x"), ...text(1, "x"), ...text(2, "y"), ...text(4, "Add")]
const graph = [...nested(1, add), ...text(2, "double"), ...nested(11, vector("x")), ...nested(12, vector("y"))]
const model = Uint8Array.from([...number(1, 8), ...nested(7, graph), ...nested(8, number(2, 17))])

const session = await InferenceSession.create(model, {
  executionProviders: [{ name: "webgpu", device }],
  preferredOutputLocation: "gpu-buffer"
})
const classify = async (x) => {
  const { y } = await session.run({ x }) // leaks
  return y
}

globalThis.kept = []
for (let step = 0; step < 5; step++) {
  globalThis.kept.push(await classify(new Tensor("float32", new Float32Array(1024), [1024])))
}
process.exit(0)
