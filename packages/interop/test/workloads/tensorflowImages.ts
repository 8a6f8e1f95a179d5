/** TensorFlow.js: images of different sizes. */
import type { Tensor } from "@tensorflow/tfjs-core"
import { random, randomValues } from "./Random.ts"
import { openTensorflow } from "./Tensorflow.ts"
import { inSteps, type Workload } from "./Workload.ts"

/** A network of three convolutions, and images of different sizes. */
export const workload: Workload = async (_device, course, stepped) => {
  const tf = await openTensorflow(course)
  const next = random(2)
  const filter = (from: number, to: number) =>
    tf.tensor4d(randomValues(9 * from * to, next, 1 / Math.sqrt(9 * from)), [3, 3, from, to])
  const filters = [filter(3, 8), filter(8, 16), filter(16, 16)]
  const classes = tf.tensor2d(randomValues(16 * 10, next, 0.25), [16, 10])
  return await inSteps(course, stepped, async () => {
    const [height, width] = [32 + Math.floor(next() * 64), 32 + Math.floor(next() * 64)]
    const image = randomValues(height * width * 3, next, 1)
    const probabilities = tf.tidy(() => {
      let x: Tensor<typeof tf.Rank.R4> = tf.tensor4d(image, [1, height, width, 3])
      for (const filter of filters) x = tf.maxPool(tf.relu(tf.conv2d(x, filter, 1, "same")), 2, 2, "same")
      return tf.softmax(tf.matMul(tf.mean(x, [1, 2]) as Tensor<typeof tf.Rank.R2>, classes))
    })
    const values = await probabilities.data<"float32">()
    probabilities.dispose()
    return values
  })
}
