/** Scenes of layers that close while other fibers are about to use the device. */
import * as Effect from "effect/Effect"
import * as Kernels from "../../../packages/testing/src/commands/Kernels.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as KernelCache from "../../../src/services/device/KernelCache.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import * as MemoryObjects from "../../../src/services/queue/MemoryObjects.ts"
import type { Scene } from "../Stage.ts"

export const closing: ReadonlyArray<Scene> = [
  {
    name: "kernels are compiled by several fibers",
    run: () =>
      Effect.all(
        [KernelCache.get(Kernels.addTo), KernelCache.get(Kernels.addTo), KernelCache.get(Kernels.constant(1))],
        {
          concurrency: "unbounded"
        }
      )
  },
  {
    name: "a kernel is compiled by its first use",
    run: () =>
      Effect.scoped(Effect.gen(function*() {
        const y = yield* BufferPool.allocate(64)
        yield* CommandQueue.dispatch(Kernels.constant(1), { y }, 16)
        yield* CommandQueue.finish
      }))
  },
  {
    name: "a buffer is made of the program's data",
    run: () =>
      Effect.gen(function*() {
        const buffer = yield* MemoryObjects.fromHost(Uint32Array.of(1, 2, 3, 4), { mode: "copy" })
        yield* CommandQueue.fill(buffer, 5)
      })
  },
  {
    name: "a buffer is made of the program's data, slowly",
    host: { latency: "1 millis" },
    run: () => MemoryObjects.fromHost(Uint32Array.of(1, 2, 3, 4), { mode: "copy" })
  }
]
