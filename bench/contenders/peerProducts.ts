/** Products of square matrices of jax-js, TensorFlow.js and this library, on one Dawn; of this library on OpenCL too. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Schema } from "effect"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as PageGpu from "../peers/PageGpu.ts"

/** Ours by the backend. */
export const Library = Schema.Literals(["webgpu", "opencl", "jax-js", "TensorFlow.js"])

const Input = Schema.Struct({ library: Library, size: Schema.Int, rounds: Schema.Int })

/** Milliseconds of each round, until the device is done: by the clock, and of all processors. */
const Figures = Schema.Struct({
  wall: Schema.Array(Schema.Finite),
  processors: Schema.Array(Schema.Finite),
  /** Of the elements of the product, each times the rest of its index by 13: that all compute the same. */
  checksum: Schema.Finite
})

const numbersOf = (size: number): Float32Array<ArrayBuffer> =>
  Float32Array.from({ length: size * size }, (_, index) => index % 7 - 3)

const checksum = (elements: ArrayLike<number>): number => {
  let sum = 0
  for (let index = 0; index < elements.length; index++) sum += elements[index]! * (index % 13)
  return sum
}

/** The first rounds compile kernels and fill pools. */
const warmUp = 2

const timed = Effect.fnUntraced(function*<E, R>(round: Effect.Effect<unknown, E, R>, rounds: number) {
  const wall: Array<number> = []
  const processors: Array<number> = []
  for (let index = -warmUp; index < rounds; index++) {
    const [from, fromProcessors] = [performance.now(), process.cpuUsage()]
    yield* round
    const { system, user } = process.cpuUsage(fromProcessors)
    if (index < 0) continue
    wall.push(performance.now() - from)
    processors.push((system + user) / 1000)
  }
  return { wall, processors }
})

const ours = (backend: Backend.Name, size: number, rounds: number) =>
  Effect.gen(function*() {
    const a = yield* DeviceArray.fromHost(numbersOf(size), { shape: [size, size] })
    const b = yield* DeviceArray.fromHost(numbersOf(size), { shape: [size, size] })
    const times = yield* timed(
      Effect.andThen(Effect.scoped(DeviceArray.matmul(a, b)), CommandQueue.finish),
      rounds
    )
    const product = yield* Effect.flatMap(DeviceArray.matmul(a, b), DeviceArray.toHost)
    return { ...times, checksum: checksum(product) }
  }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Backend.layers[backend]))

const jax = Effect.fnUntraced(function*(size: number, rounds: number) {
  PageGpu.provide()
  const { blockUntilReady, defaultDevice, init, numpy } = yield* Effect.promise(() => import("@jax-js/jax"))
  yield* Effect.promise(() => init("webgpu"))
  defaultDevice("webgpu")
  const matrix = () => numpy.array(numbersOf(size)).reshape([size, size])
  const [a, b] = [matrix(), matrix()]
  const product = () => numpy.matmul(a.ref, b.ref)
  const times = yield* timed(
    Effect.promise(async () => {
      const result = product()
      await blockUntilReady([result])
      result.dispose()
    }),
    rounds
  )
  const elements = yield* Effect.promise(() => product().data())
  return { ...times, checksum: checksum(elements) }
})

const tensorflow = Effect.fnUntraced(function*(size: number, rounds: number) {
  PageGpu.provide()
  const tf = yield* Effect.promise(() => import("@tensorflow/tfjs-core"))
  const { WebGPUBackend } = yield* Effect.promise(() => import("@tensorflow/tfjs-backend-webgpu"))
  yield* Effect.promise(() => tf.setBackend("webgpu"))
  const backend = tf.backend()
  if (!(backend instanceof WebGPUBackend)) return yield* Effect.die("TensorFlow.js did not take WebGPU")
  const [a, b] = [tf.tensor2d(numbersOf(size), [size, size]), tf.tensor2d(numbersOf(size), [size, size])]
  const times = yield* timed(
    Effect.promise(async () => {
      const result = tf.matMul(a, b)
      backend.endComputePassEncoder()
      backend.submitQueue()
      await backend.device.queue.onSubmittedWorkDone()
      result.dispose()
    }),
    rounds
  )
  const elements = yield* Effect.promise(() => tf.matMul(a, b).data())
  return { ...times, checksum: checksum(elements) }
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Figures,
  measure: ({ library, rounds, size }) => {
    switch (library) {
      case "webgpu":
      case "opencl":
        return ours(library, size, rounds)
      case "jax-js":
        return jax(size, rounds)
      case "TensorFlow.js":
        return tensorflow(size, rounds)
    }
  }
})

if (import.meta.main) Contender.main(contender)
