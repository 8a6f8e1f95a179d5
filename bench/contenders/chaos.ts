/**
 * Chaos: 64 fibers use every kind of memory under one limit, by all operations, while limits change, fibers are
 * interrupted, pools close and devices are lost. The bytes that they read are compared with a model, nothing may be
 * left over, and the recording is replayed.
 */
import { Replay } from "@effect-gpu-pool/observability"
import { Effect, Fiber, Logger, Scheduler, Schema } from "effect"
import * as Backend from "../Backend.ts"
import { demandSuccesses, worker } from "../chaos/Jobs.ts"
import { meddle } from "../chaos/Meddling.ts"
import * as World from "../chaos/World.ts"
import * as Contender from "../Contender.ts"
import * as Heap from "../Heap.ts"
import * as Random from "../Random.ts"
import * as Devices from "../soak/Devices.ts"
import { Figures } from "../soak/Figures.ts"
import { Watch } from "../soak/Watch.ts"

const fibers = 64

const Input = Schema.Struct({ backend: Backend.Name, seconds: Schema.Finite, seed: Schema.Int })

/** Makes every third fiber yield at random steps, so that others run where it would continue. */
const oddly = <A, E, R>(effect: Effect.Effect<A, E, R>, seed: number): Effect.Effect<A, E, R> => {
  if (seed % 3 !== 0) return effect
  const next = Random.make(seed)
  const scheduler = new Scheduler.MixedScheduler()
  scheduler.shouldYield = () => next() < 0.02
  return Effect.provideService(effect, Scheduler.Scheduler, scheduler)
}

const load = (seed: number) => ({ isOver, next, watch }: World.Load): Effect.Effect<void, never, World.Services> =>
  Effect.scoped(Effect.gen(function*() {
    const severalQueues = next() < 0.3
    const meddler = yield* Effect.forkChild(meddle(watch, next))
    yield* Effect.forEach(
      Array.from({ length: fibers }, (_, index) => seed + index),
      (seed) => oddly(worker({ watch, next: Random.make(seed), severalQueues }, isOver), seed),
      {
        concurrency: "unbounded",
        discard: true
      }
    )
    yield* Fiber.interrupt(meddler)
  }))

const life = Effect.fnUntraced(function*(device: Devices.SoakDevice, seed: number, watch: Watch) {
  const { recording, watch: found } = yield* World.live({ device, load: load(seed), seed })
  watch.include(found)
  const report = yield* Replay.run(recording)
  watch.count(report.differsAt === undefined ? "replayed" : "replayed otherwise")
})

const chaos = Effect.fnUntraced(function*({ backend, seconds, seed }: typeof Input.Type) {
  const watch = new Watch()
  const device = Devices.open[backend]()
  const until = performance.now() + 1000 * seconds
  const samples: Array<{ readonly heap: number; readonly resident: number }> = []
  for (let number = 0; performance.now() < until; number++) {
    yield* life(device, seed + 100 * number, watch)
    samples.push({ heap: yield* Heap.bytes, resident: process.memoryUsage().rss })
  }
  demandSuccesses(watch)
  const settled = samples.slice(Math.ceil(samples.length / 10))
  return {
    counts: watch.counts,
    problems: watch.problems,
    problemCount: watch.problemCount,
    excessBytes: watch.excessBytes,
    heapBytes: settled.map(({ heap }) => heap),
    residentBytes: settled.map(({ resident }) => resident),
    left: {}
  }
}, Effect.provide(Logger.layer([])))

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Figures,
  measure: chaos,
  process: Heap.keepingLittle
})

if (import.meta.main) Contender.main(contender)
