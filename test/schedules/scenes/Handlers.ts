/** Scenes of handlers that free memory when the pool has none. */
import * as Effect from "effect/Effect"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../../src/services/buffers/PooledBuffer.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import type { Scene } from "../Stage.ts"
import { job } from "./Waiting.ts"

/** Keeps a lease until memory is short. */
export const cache = (give: (lease: PooledBuffer.PooledBuffer) => Effect.Effect<boolean, GpuError>) =>
  Effect.gen(function*() {
    const cached = yield* BufferPool.allocate(64)
    yield* BufferPool.onOutOfMemory(() =>
      Lease.isLive(cached) ? Effect.orElseSucceed(give(cached), () => false) : Effect.succeed(false)
    )
  })

export const givesBack = (lease: PooledBuffer.PooledBuffer) => Effect.as(Lease.release(lease), true)

export const handlers: ReadonlyArray<Scene> = [
  {
    name: "a handler gives its cache back",
    pool: { maxBytes: 64 },
    run: () => Effect.andThen(cache(givesBack), job(64))
  },
  {
    name: "a handler that fails",
    pool: { maxBytes: 64 },
    run: () =>
      Effect.andThen(
        cache((lease) =>
          Effect.andThen(Effect.yieldNow, Lease.release(lease)).pipe(
            Effect.andThen(Lease.release(lease)),
            Effect.as(true)
          )
        ),
        job(64)
      ),
    mayFail: ["OutOfMemory"]
  }
]
