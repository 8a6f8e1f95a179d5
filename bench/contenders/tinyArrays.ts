/** What an operation on a tiny array costs the program: until it is recorded, without waiting for the device. */
import { Effect, Schema } from "effect"
import { BufferPool, CommandQueue, DeviceArray } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"

const elements = 16
const operations = 500
const rounds = { warmUp: 10, measured: 30 }

const add = (x: DeviceArray.DeviceArray<"f32">) =>
  Effect.gen(function*() {
    for (let index = 0; index < operations; index++) yield* Effect.scoped(DeviceArray.add(x, x))
  })

/** Microseconds per operation, by round. */
const measure = Effect.gen(function*() {
  const x = yield* DeviceArray.fromHost(new Float32Array(elements))
  const micros: Array<number> = []
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    const from = performance.now()
    yield* add(x)
    yield* CommandQueue.flush
    const millis = performance.now() - from
    yield* CommandQueue.finish
    if (round >= 0) micros.push(millis * 1000 / operations)
  }
  return micros
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ backend: Backend.Name }),
  figures: Schema.Array(Schema.Finite),
  measure: ({ backend }) =>
    measure.pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Backend.layers[backend]))
})

if (import.meta.main) Contender.main(contender)
