/** Scenes of device arrays, and of regions of them that are computed together. */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import * as Effect from "effect/Effect"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { Scene } from "../Stage.ts"

export const sum = Effect.gen(function*() {
  const x = yield* DeviceArray.full([4], 2)
  const y = yield* DeviceArray.add(x, 3)
  return yield* DeviceArray.multiply(y, x)
})

export const arrays: ReadonlyArray<Scene> = [
  {
    name: "arrays are computed one by one, in a region",
    run: (stage) =>
      Effect.gen(function*() {
        const result = yield* DeviceArray.scoped(sum)
        if (result.lease !== undefined) yield* stage.share(result.lease)
      })
  },
  {
    name: "arrays are recorded and computed together",
    run: (stage) =>
      Effect.gen(function*() {
        const result = yield* DeviceArray.lazy(sum)
        if (result.lease !== undefined) yield* stage.share(result.lease)
      })
  },
  {
    name: "two regions in room for both, one after the other",
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: () =>
      Effect.all([Effect.scoped(DeviceArray.lazy(sum)), Effect.scoped(DeviceArray.lazy(sum))], {
        concurrency: "unbounded"
      })
  },
  {
    name: "a reduction needs scratch memory",
    run: () => Effect.scoped(Effect.flatMap(DeviceArray.arange(8), (x) => DeviceArray.sum(x)))
  },
  {
    name: "a region within a budget",
    pool: { maxBytes: 256 },
    run: () => BufferPool.withBudget(Effect.scoped(DeviceArray.lazy(sum)), 128)
  }
]
