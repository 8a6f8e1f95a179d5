/** Scenes of handlers that need memory themselves. */
import * as Effect from "effect/Effect"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene } from "../Stage.ts"
import { job } from "./Waiting.ts"

/** A handler that allocates memory itself and frees none. */
const scratch = BufferPool.onOutOfMemory(() =>
  Effect.as(Effect.ignore(BufferPool.use(16, (lease) => CommandQueue.fill(lease, 1))), true)
)

export const scratchHandlers: ReadonlyArray<Scene> = [
  {
    name: "a handler that uses memory of the pool, and does not help",
    pool: { maxBytes: 64 },
    run: () =>
      Effect.andThen(
        scratch,
        BufferPool.use(48, () => job(32))
      ),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "a handler that uses memory of the pool, and a request that waits for a while",
    pool: { maxBytes: 64 },
    run: () => Effect.andThen(scratch, BufferPool.use(48, () => job(32, { waitAtMost: "5 millis" }))),
    mayFail: ["OutOfMemory"]
  }
]
