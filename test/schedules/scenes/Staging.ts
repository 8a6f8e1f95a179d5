/** Scenes of staging memory: each owner moves its own data, or its memory has ended. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import * as StagingPool from "../../../src/services/staging/StagingPool.ts"
import * as Transfers from "../../../src/services/staging/Transfers.ts"
import type { Scene, Services, Stage } from "../Stage.ts"

/** A staging pool with room for one array of 16 bytes at a time. */
const staged = <A, E>(
  program: Effect.Effect<A, E, Services | StagingPool.StagingPool | Scope.Scope>
): Effect.Effect<A, E | GpuError, Services | Scope.Scope> =>
  Effect.flatMap(
    Layer.build(StagingPool.layer({ maxBytes: 16, onExhausted: "wait" })),
    (staging) => Effect.provide(program, staging)
  )

const shared = (stage: Stage, value: number) =>
  Effect.gen(function*() {
    const lease = yield* Effect.flatMap(BufferPool.allocate(16), stage.share)
    yield* CommandQueue.fill(lease, value)
    return lease
  })

const sent = (stage: Stage, value: number) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* shared(stage, 0)
    yield* StagingPool.use(4, Uint32Array, (array) => {
      array.data.fill(value)
      return StagingPool.upload(array, lease)
    })
    Expect.numbers("what was sent", yield* CommandQueue.read(lease, Uint32Array), new Uint32Array(4).fill(value))
  }))

const got = (stage: Stage, value: number) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* shared(stage, value)
    const array = yield* StagingPool.allocate(4, Uint32Array, { direction: "download" })
    yield* StagingPool.download(lease, array)
    const { data } = array
    // The pool, or its device, may have ended since.
    if (data.length > 0) Expect.numbers("what was got", data, new Uint32Array(4).fill(value))
  }))

const there = (stage: Stage, value: number) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* shared(stage, 0)
    const array = yield* StagingPool.allocate(4, Uint32Array, { direction: "both" })
    array.data.fill(value)
    yield* StagingPool.upload(array, lease)
    if (array.data.length > 0) Expect.numbers("what stays", array.data, new Uint32Array(4).fill(value))
    yield* CommandQueue.fill(lease, value + 1)
    yield* StagingPool.download(lease, array)
    if (array.data.length > 0) Expect.numbers("what came back", array.data, new Uint32Array(4).fill(value + 1))
  }))

/** Three pieces, two to a chunk, each in the memory of the one before. */
const pieces = (value: number) => {
  const memory = new Uint32Array(2)
  return Stream.map(Stream.range(0, 2, 1), () => memory.fill(value))
}

const streamed = (stage: Stage, value: number) =>
  Effect.scoped(Effect.gen(function*() {
    const lease = yield* shared(stage, 0)
    const target = yield* BufferPool.allocate(24)
    Expect.equal("bytes", yield* Transfers.upload(pieces(value), target, { chunkSize: 16 }), 24)
    yield* CommandQueue.copy(target, lease, { size: 16 })
    const chunks = yield* Stream.runCollect(Transfers.download(target, { chunkSize: 16 }))
    Expect.same("what came back", chunks.flatMap((chunk) => [...new Uint32Array(chunk.buffer)]), Array(6).fill(value))
  }))

/** The function shares its chunk with the intruder, which may end it at any time. */
const through = (stage: Stage, value: number) =>
  Effect.gen(function*() {
    const chunks = yield* pieces(value).pipe(
      Transfers.through((chunk) => Effect.as(stage.share(chunk), undefined), { chunkSize: 16, inFlight: 2 }),
      Stream.runCollect
    )
    Expect.same("what came back", chunks.flatMap((chunk) => [...new Uint32Array(chunk.buffer)]), Array(6).fill(value))
  })

export const staging: ReadonlyArray<Scene> = [
  { name: "an array is uploaded", run: (stage) => staged(sent(stage, 1)) },
  { name: "an array is downloaded", run: (stage) => staged(got(stage, 2)) },
  { name: "an array goes there and back", run: (stage) => staged(there(stage, 9)) },
  {
    name: "two upload and download through memory for one",
    run: (stage) => staged(Effect.all([sent(stage, 3), got(stage, 4)], { concurrency: "unbounded", discard: true }))
  },
  { name: "a stream is uploaded and downloaded", run: (stage) => staged(streamed(stage, 7)) },
  { name: "a stream passes through a buffer", run: (stage) => staged(through(stage, 8)) },
  {
    name: "a view is lent",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* shared(stage, 5)
        yield* CommandQueue.readView(lease, Uint32Array, (view) =>
          Effect.gen(function*() {
            yield* Effect.yieldNow
            // The view ends with the lease.
            if (view.length > 0) Expect.numbers("the view", view, new Uint32Array(4).fill(5))
          }))
        yield* CommandQueue.fill(lease, 6)
      })
  }
]
