/** The product of two matrices, against a kernel that computes each element by itself. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Schema } from "effect"
import { BufferPool, CommandQueue, Kernel, KernelArgument } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"

const Input = Schema.Struct({ backend: Backend.Name, size: Schema.Int, rounds: Schema.Int })

const Figures = Schema.Struct({ tiled: Schema.Array(Schema.Finite), naive: Schema.Array(Schema.Finite) })

const { ScalarArg, VectorArg } = KernelArgument

const naive = Kernel.make({
  name: "naive_product",
  args: [
    VectorArg("f32", "a", { access: "read" }),
    VectorArg("f32", "b", { access: "read" }),
    VectorArg("f32", "c", { access: "write" }),
    ScalarArg("u32", "n")
  ],
  body: {
    wgsl: `let row = i / n; let column = i % n; var sum = 0f;
  for (var k = 0u; k < n; k++) { sum += a[row * n + k] * b[k * n + column]; }
  c[i] = sum;`,
    opencl: `const uint row = i / n, column = i % n; float sum = 0;
  for (uint k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
  c[i] = sum;`,
    host: (from, to, { a, b, c, n }) => {
      for (let i = from; i < to; i++) {
        const row = Math.floor(i / n)
        const column = i % n
        let sum = 0
        for (let k = 0; k < n; k++) sum = Math.fround(sum + a[row * n + k]! * b[k * n + column]!)
        c[i] = sum
      }
    }
  }
})

/** Milliseconds of each round, turn by turn. */
const measure = Effect.fnUntraced(function*({ rounds, size }: typeof Input.Type) {
  const numbers = Float32Array.from({ length: size * size }, (_, index) => index % 7 - 3)
  const a = yield* DeviceArray.fromHost(numbers, { shape: [size, size] })
  const b = yield* DeviceArray.fromHost(numbers, { shape: [size, size] })
  const millis = Effect.fnUntraced(function*<E, R>(effect: Effect.Effect<unknown, E, R>) {
    const from = performance.now()
    yield* Effect.andThen(Effect.scoped(effect), CommandQueue.finish)
    return performance.now() - from
  })
  const tiledProduct = DeviceArray.matmul(a, b)
  const naiveProduct = Effect.flatMap(
    BufferPool.allocate(size * size * 4),
    (c) => CommandQueue.dispatch(naive, { a: a.lease!, b: b.lease!, c, n: size }, size * size)
  )
  yield* millis(tiledProduct)
  yield* millis(naiveProduct)
  const figures = { tiled: Array<number>(), naive: Array<number>() }
  for (let round = 0; round < rounds; round++) {
    figures.tiled.push(yield* millis(tiledProduct))
    figures.naive.push(yield* millis(naiveProduct))
  }
  return figures
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Figures,
  measure: (input) =>
    measure(input).pipe(Effect.provide(BufferPool.layer()), Effect.provide(Backend.layers[input.backend]))
})

if (import.meta.main) Contender.main(contender)
