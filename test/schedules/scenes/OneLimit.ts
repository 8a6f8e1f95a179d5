/**
 * Scenes of all kinds of memory under one limit: each operation waits for the memory of the others, and for its own.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import { type Pools, randomProgram, unit } from "../../../packages/testing/src/memory/OneLimit.ts"
import { Random } from "../../../packages/testing/src/Random.ts"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as ImagePool from "../../../src/services/images/ImagePool.ts"
import * as Transfers from "../../../src/services/staging/Transfers.ts"
import type { Scene, Stage } from "../Stage.ts"

/** With every pool of the stage. */
const onStage = <A, E>({ images, staging }: Stage, program: Effect.Effect<A, E, Pools>) =>
  images === undefined || staging === undefined ? Expect.fail("a scene without pools") : program.pipe(
    Effect.provideService(ImagePool.ImagePool, images),
    Effect.provide(staging)
  )

const atOnce = { concurrency: "unbounded", discard: true } as const

const bytes = (units: number) => Stream.map(Stream.range(1, units, 1), (n) => new Uint8Array(unit).fill(n))

const sent = (units: number) =>
  BufferPool.use(units * unit, (x) => Transfers.upload(bytes(units), x, { chunkSize: unit }))

/** Retries a job until it has its memory: a deadlock may fail it. */
const again = <A, R>(job: Effect.Effect<A, GpuError, R>) =>
  Effect.retry(job, { while: (error) => error.isRetryable, times: 20 })

const random = (seed: number): Scene => {
  const { limit, run } = randomProgram(new Random(seed), true, { fibers: 2, steps: 1 })
  return {
    name: `random program ${seed}`,
    sharedBytes: limit,
    host: seed % 2 === 0 ? { latency: "1 millis" } : {},
    run: (stage) => onStage(stage, run)
  }
}

export const oneLimit: ReadonlyArray<Scene> = [
  {
    name: "uploads in reservations wait for nothing but their turn",
    sharedBytes: 2 * unit,
    run: (stage) => {
      const reserved = BufferPool.reserve(sent(1), 2 * unit)
      return onStage(stage, Effect.all([reserved, reserved], atOnce))
    }
  },
  {
    name: "uploads have their targets and wait for each other",
    sharedBytes: 2 * unit,
    run: (stage) => onStage(stage, Effect.all([again(sent(1)), again(sent(1))], atOnce)),
    // Left out, because it keeps a target until the scene has ended, and the scene waits for that.
    without: ["the next owner"]
  },
  {
    name: "a stream waits for the memory of its target",
    sharedBytes: 2 * unit,
    run: (stage) =>
      onStage(
        stage,
        Effect.matchEffect(again(sent(2)), {
          onFailure: (error) =>
            error.reason._tag === "OutOfMemory"
              ? Effect.sync(() => Expect.isTrue(error.message, !error.isRetryable))
              : Effect.fail(error),
          onSuccess: () => Effect.sync(() => Expect.fail("it was sent"))
        })
      ),
    without: ["a change of the limit", "the next owner"]
  },
  {
    name: "chunks pass through a buffer, of which one has room",
    sharedBytes: 2 * unit,
    run: (stage) =>
      onStage(
        stage,
        bytes(2).pipe(
          Transfers.through((chunk) => Effect.as(stage.share(chunk), undefined), { chunkSize: unit, inFlight: 2 }),
          Stream.runDrain
        )
      ),
    without: ["the next owner"]
  },
  ...[2, 3].map(random)
]
