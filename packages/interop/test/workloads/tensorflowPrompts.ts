/** TensorFlow.js: prompts of different lengths. */
import type { Tensor } from "@tensorflow/tfjs-core"
import { random, randomValues } from "./Random.ts"
import { openTensorflow } from "./Tensorflow.ts"
import { inSteps, type Workload } from "./Workload.ts"

const width = 64
const heads = 4

/** One block of a transformer, and prompts of 16 to 255 tokens. */
export const workload: Workload = async (_device, course, stepped) => {
  const tf = await openTensorflow(course)
  const next = random(1)
  const weights = (rows: number, columns: number) =>
    tf.tensor2d(randomValues(rows * columns, next, 1 / Math.sqrt(rows)), [rows, columns])
  const [toQueries, toKeys, toValues, toOutput] = [
    weights(width, width),
    weights(width, width),
    weights(width, width),
    weights(width, width)
  ]
  const [widen, narrow] = [weights(width, 4 * width), weights(4 * width, width)]
  const normalized = (x: Tensor): Tensor => {
    const { mean, variance } = tf.moments(x, 1, true)
    return tf.div(tf.sub(x, mean), tf.sqrt(tf.add(variance, 1e-5)))
  }
  const split = (x: Tensor, tokens: number): Tensor =>
    tf.transpose(tf.reshape(x, [tokens, heads, width / heads]), [1, 0, 2])
  const block = (x: Tensor, tokens: number): Tensor => {
    const before = normalized(x)
    const [queries, keys, values] = [toQueries, toKeys, toValues].map((by) => split(tf.matMul(before, by), tokens))
    const scores = tf.mul(tf.matMul(queries!, keys!, false, true), 1 / Math.sqrt(width / heads))
    const mixed = tf.reshape(tf.transpose(tf.matMul(tf.softmax(scores), values!), [1, 0, 2]), [tokens, width])
    const attended = tf.add(x, tf.matMul(mixed, toOutput))
    return tf.add(attended, tf.matMul(tf.relu(tf.matMul(normalized(attended), widen)), narrow))
  }
  return await inSteps(course, stepped, async () => {
    const tokens = 16 + Math.floor(next() * 240)
    const prompt = randomValues(tokens * width, next, 1)
    const last = tf.tidy(() =>
      tf.slice(block(tf.tensor2d(prompt, [tokens, width]), tokens), [tokens - 1, 0], [1, width])
    )
    const values = await last.data<"float32">()
    last.dispose()
    return values
  })
}
