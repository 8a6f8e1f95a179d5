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

const textOf = <A, E>(
  program: Effect.Effect<A, E, BufferPool.BufferPool>,
  maxBytes: MemoryLimit.ByteAmount
): Promise<string> =>
  program.pipe(
    Effect.andThen(Recording.snapshot),
    Effect.flatMap((recording) => Stream.mkString(Recording.toLines(recording))),
    Effect.provide(pool(maxBytes)),
    Effect.runPromise
  )

export const recordedFrames = (frames: number, maxBytes: MemoryLimit.ByteAmount = "8 MiB"): Promise<string> =>
  textOf(Effect.forEach(Array.from({ length: frames }, (_, index) => index), frame), maxBytes)

/** The same of two images under a limit that has room for one: the second one runs out of memory, and the program ends. */
export const recordedFailure = (): Promise<string> => {
  const image = BufferPool.allocate(1_000_000, { label: "image" })
  return textOf(Effect.exit(Effect.scoped(Effect.andThen(image, image))), "1500 kB")
}
