/**
 * What an operation on a tiny array costs the program: until it is submitted, without waiting for the device. On a CPU
 * the device's threads compete for the machine meanwhile, so the processor time of the program's own thread is measured
 * as well.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Schema } from "effect"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
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
const Figures = Schema.Struct({ thread: Schema.Array(Schema.Finite), wall: Schema.Array(Schema.Finite) })

const measure = Effect.gen(function*() {
  const x = yield* DeviceArray.fromHost(new Float32Array(elements))
  const thread: Array<number> = []
  const wall: Array<number> = []
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    const [from, fromThread] = [performance.now(), process.threadCpuUsage()]
    yield* add(x)
    yield* CommandQueue.flush
    const { system, user } = process.threadCpuUsage(fromThread)
    const millis = performance.now() - from
    yield* CommandQueue.finish
    if (round < 0) continue
    thread.push((user + system) / operations)
    wall.push(millis * 1000 / operations)
  }
  return { thread, wall }
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ backend: Backend.Name }),
  figures: Figures,
  measure: ({ backend }) =>
    measure.pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Backend.layers[backend]))
})

if (import.meta.main) Contender.main(contender)
