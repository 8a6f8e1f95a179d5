/** onnxruntime-web: texts of different lengths. */
import { attention, openSession, read, width } from "./Onnx.ts"
import { encode } from "./OnnxModel.ts"
import { random, randomValues } from "./Random.ts"
import { inSteps, type Workload } from "./Workload.ts"

/** Four layers of attention, and texts of 16 to 495 tokens. */
export const workload: Workload = async (device, course, stepped) => {
  const { ort, session } = await openSession(device, encode(attention(4, false)), course)
  const next = random(5)
  return await inSteps(course, stepped, async () => {
    const tokens = 16 + Math.floor(next() * 480)
    const x = new ort.Tensor("float32", randomValues(tokens * width, next, 1), [tokens, width])
    const { y } = await session.run({ x })
    return await read(y!)
  })
}
