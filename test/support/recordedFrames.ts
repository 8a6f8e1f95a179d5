/** The text of a recording, as a file has it: frames that each lease two buffers, one of which grows, if they can. */
import * as PoolEvents from "@effect-gpu-pool/observability/PoolEvents"
import * as Recording from "@effect-gpu-pool/observability/Recording"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as MemoryLimit from "../../src/domain/pool/MemoryLimit.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"

const pool = (maxBytes: MemoryLimit.ByteAmount) =>
  BufferPool.layer({ label: "frames", maxBytes }).pipe(
    Layer.provideMerge(Host.layer()),
    Layer.provideMerge(Recording.layer()),
    Layer.provideMerge(PoolEvents.layer)
  )

const frame = (index: number) =>
  Effect.scoped(Effect.andThen(
    BufferPool.allocate(100_000 + 3000 * index, { label: "weights" }),
    Effect.exit(BufferPool.allocate(1_000_000, { label: "image" }))
  ))

export const recordedFrames = (frames: number, maxBytes: MemoryLimit.ByteAmount = "8 MiB"): Promise<string> =>
  Effect.forEach(Array.from({ length: frames }, (_, index) => index), frame).pipe(
    Effect.andThen(Recording.snapshot),
    Effect.flatMap((recording) => Stream.mkString(Recording.toLines(recording))),
    Effect.provide(pool(maxBytes)),
    Effect.runPromise
  )
