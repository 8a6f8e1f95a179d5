/** Scenes of pools over one limited allocator. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SizePolicy from "../../../src/domain/pool/SizePolicy.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { Scene } from "../Stage.ts"
import { atOnce } from "./Waiting.ts"

const limited = LimitingAllocator.layer({ maxBytes: 64 }).pipe(Layer.provide(Allocator.layerImmediate), Layer.fresh)

const waits = { sizePolicy: SizePolicy.exact, onExhausted: "wait" } as const

/** A program on two pools of its own, beside the one of the stage. */
const onTwo = <A, E, R>(f: (one: BufferPool.Pool, other: BufferPool.Pool) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.provide(
    Effect.flatMap(Effect.all([BufferPool.make(waits), BufferPool.make(waits)]), ([one, other]) => f(one, other)),
    limited
  ))

const worksWith = () => Effect.yieldNow

export const limitedAllocators: ReadonlyArray<Scene> = [
  {
    name: "two pools on one limited allocator wait for each other",
    run: () => onTwo((one, other) => atOnce(one.use(64, worksWith), other.use(64, worksWith), one.use(32, worksWith)))
  },
  {
    name: "requests for several leases of two pools on one limited allocator",
    run: () =>
      onTwo((one, other) =>
        atOnce(one.useAll([32, 32], worksWith), other.useAll([16, 32], worksWith), other.use(32, worksWith))
      )
  },
  {
    name: "two pools on one limited allocator, on a slow device",
    host: { latency: "1 millis" },
    run: () =>
      onTwo((one, other) =>
        atOnce(one.useAll([32, 16], worksWith), other.useAll([32, 32], worksWith), one.use(48, worksWith))
      )
  }
]
