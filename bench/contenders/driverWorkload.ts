/** The touched workload without a pool: every buffer from the driver and back to it, through the deferred allocator. */
import { Effect, Layer, Schema } from "effect"
import { Allocator, CommandQueue } from "effect-gpu-pool"
import type { DeviceBuffer } from "effect-gpu-pool/backend"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Workload from "../Workload.ts"

const workload = Effect.fnUntraced(function*(plan: ReadonlyArray<Workload.Step>) {
  const allocator = yield* Allocator.Allocator
  const queue = yield* CommandQueue.CommandQueue
  const source = yield* allocator.allocate(Workload.copyBytes)
  const live: Array<DeviceBuffer.DeviceBuffer | undefined> = Array.from({ length: Workload.slots })
  let replaced: Array<DeviceBuffer.DeviceBuffer> = []
  const flush = Effect.fnUntraced(function*() {
    yield* queue.flush
    for (const buffer of replaced) yield* allocator.freeUnsafe(buffer)
    replaced = []
  })
  for (const [index, { size, slot }] of plan.entries()) {
    const old = live[slot]
    if (old !== undefined) replaced.push(old)
    const buffer = yield* allocator.allocate(size)
    live[slot] = buffer
    yield* queue.copy(source, buffer, { size: Workload.copyBytes })
    if ((index + 1) % Workload.stepsPerFlush === 0) yield* flush()
  }
  replaced.push(source, ...live.filter((buffer) => buffer !== undefined))
  yield* flush()
  yield* queue.finish
})

const timedRun = Effect.fnUntraced(function*(run: number) {
  const plan = Workload.plan(run)
  const from = performance.now()
  yield* workload(plan)
  return { millis: performance.now() - from, peakLiveBytes: Workload.peakLiveBytes(plan) }
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ backend: Backend.Name }),
  figures: Workload.Figures,
  measure: ({ backend }) =>
    Workload.eachRun(timedRun).pipe(
      Effect.map((done) => Workload.figures(done, undefined)),
      Effect.provide(Allocator.layerDeferred.pipe(Layer.provideMerge(Backend.layers[backend])))
    )
})

if (import.meta.main) Contender.main(contender)
