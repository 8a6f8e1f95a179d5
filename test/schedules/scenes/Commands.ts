/** Scenes of recorded work: writes, copies, kernels, events, mappings, and parts of buffers. */
import * as Effect from "effect/Effect"
import * as Kernels from "../../../packages/testing/src/commands/Kernels.ts"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Mapping from "../../../src/services/buffers/mapping/Mapping.ts"
import * as SubRegion from "../../../src/services/buffers/SubRegion.ts"
import * as KernelCache from "../../../src/services/device/KernelCache.ts"
import * as QueueEvent from "../../../src/services/device/QueueEvent.ts"
import * as Backpressure from "../../../src/services/queue/Backpressure.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../../src/services/queue/MemoryObjects.ts"
import type { Scene, Stage } from "../Stage.ts"

const shared = (stage: Stage, size = 64) => Effect.flatMap(BufferPool.allocate(size), stage.share)

const words = (word: number, count = 16) => new Uint32Array(count).fill(word)

export const commands: ReadonlyArray<Scene> = [
  {
    name: "writes, copies and fills, finished",
    run: (stage) =>
      Effect.gen(function*() {
        const [from, to] = yield* Effect.all([shared(stage), shared(stage)])
        yield* CommandQueue.write(from, words(1))
        yield* CommandQueue.copy(from, to)
        yield* CommandQueue.fill(to, 2, { offset: 32 })
        yield* CommandQueue.finish
      })
  },
  {
    name: "rectangles are written and copied",
    run: (stage) =>
      Effect.gen(function*() {
        const [from, to] = yield* Effect.all([shared(stage), shared(stage)])
        yield* CommandQueue.writeRect(from, words(1, 4), { region: [8, 2], buffer: { rowPitch: 16 } })
        yield* CommandQueue.copyRect(from, to, { region: [8, 2], source: { rowPitch: 16 }, target: { rowPitch: 32 } })
        yield* CommandQueue.flush
      })
  },
  {
    name: "a kernel runs on two buffers",
    run: (stage) =>
      Effect.gen(function*() {
        const [x, y] = yield* Effect.all([shared(stage), shared(stage)])
        yield* CommandQueue.fill(x, 1)
        yield* CommandQueue.dispatch(Kernels.addTo, { x, y, a: 5 }, 16)
        yield* CommandQueue.finish
      })
  },
  {
    name: "fibers share a compilation, and one clears the cache",
    run: () =>
      Effect.all([KernelCache.get(Kernels.addTo), KernelCache.get(Kernels.addTo), KernelCache.clear], {
        concurrency: "unbounded"
      })
  },
  {
    name: "two record more than the queue may have",
    host: { latency: "1 millis" },
    run: (stage) =>
      Effect.gen(function*() {
        yield* Backpressure.set({ maxCommands: 2, maxBytes: 64 })
        const [x, y] = yield* Effect.all([shared(stage), shared(stage)])
        const recorded = Effect.gen(function*() {
          yield* CommandQueue.fill(x, 1)
          yield* CommandQueue.write(y, words(2))
          yield* CommandQueue.copy(x, y)
        })
        yield* Effect.all([recorded, recorded], { concurrency: "unbounded" })
        Expect.numbers("what was copied last", yield* CommandQueue.read(y, Uint32Array), words(1))
      })
  },
  {
    name: "events of recorded work",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* shared(stage)
        const [event] = yield* CommandQueue.withEvent(CommandQueue.fill(lease, 1))
        yield* CommandQueue.after(CommandQueue.fill(lease, 2), [event])
        yield* QueueEvent.wait(event)
      })
  },
  {
    name: "a buffer is mapped, written and unmapped",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* shared(stage)
        yield* CommandQueue.fill(lease, 1)
        yield* Effect.scoped(Effect.gen(function*() {
          const mapped = yield* Mapping.map(lease, Uint32Array)
          // If another fiber has ended the mapping, it has no elements.
          if (mapped.data.length === 0) return
          Expect.numbers("mapped", mapped.data, words(1))
          mapped.data.fill(2)
        }))
        yield* CommandQueue.finish
      })
  },
  {
    name: "parts of a buffer are written apart",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* shared(stage)
        const head = yield* SubRegion.make(lease, { offset: 0, size: 32 })
        const tail = yield* SubRegion.slice(lease, Uint32Array, 8)
        yield* CommandQueue.fill(head, 1)
        yield* CommandQueue.fill(tail, 2)
        yield* CommandQueue.finish
      })
  },
  {
    name: "a program's data is used in place",
    run: () =>
      Effect.scoped(Effect.gen(function*() {
        const data = words(4)
        const buffer = yield* MemoryObjects.fromHost(data, { mode: "use" })
        yield* CommandQueue.fill(buffer, 5)
        yield* CommandQueue.finish
      }))
  }
]
