/** Streams to and from buffers: how they end while they are idle, and what they do not touch. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import * as Transfers from "../../src/services/staging/Transfers.ts"
import { tagOf } from "../support/hostPool.ts"

const provided = Effect.provide(
  Layer.merge(BufferPool.layer(), StagingPool.layer()).pipe(Layer.provideMerge(Host.layer())),
  { local: true }
)

const lose = Host.Host.useSync(({ faults }) => faults.lose())

describe("streams", () => {
  it.effect("fail with a device that is lost while a stream has nothing", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      const idle = Stream.concat(Stream.make(new Uint8Array(8)), Stream.never)
      const transfers = [
        Transfers.upload(idle, x, { chunkSize: 8 }),
        Stream.run(idle, Transfers.sink(x, { chunkSize: 4 })),
        Stream.runDrain(Transfers.through(idle, () => Effect.void, { chunkSize: 8 }))
      ]
      const fibers = yield* Effect.forEach(
        transfers,
        (transfer) => Effect.forkChild(Effect.flip(transfer), { startImmediately: true })
      )
      yield* CommandQueue.finish
      yield* lose
      const errors = yield* Effect.forEach(fibers, Fiber.join)
      deepStrictEqual(errors.map((error) => error.reason._tag), ["DeviceLost", "DeviceLost", "DeviceLost"])
    }).pipe(Effect.scoped, provided))

  it.effect("end the fibers that ask a stream before the stream", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const asked = yield* Deferred.make<void>()
      const waiting = Effect.andThen(Deferred.succeed(asked, undefined), Effect.never).pipe(
        Effect.onInterrupt(() => Effect.sync(() => log.push("asked no more")))
      )
      const stream = Stream.unwrap(Effect.gen(function*() {
        yield* Effect.acquireRelease(Effect.void, () => Effect.sync(() => log.push("closed")))
        return Stream.concat(Stream.make(new Uint8Array(4)), Stream.fromEffect(waiting))
      }))
      const first = Transfers.through(stream, () => Effect.void, { chunkSize: 4 }).pipe(
        Stream.mapEffect((chunk) => Effect.as(Deferred.await(asked), chunk.length)),
        Stream.runHead
      )
      deepStrictEqual((yield* first)._tag, "Some")
      deepStrictEqual(log, ["asked no more", "closed"])
    }).pipe(provided))

  it.effect("hand a result on while the next piece is still to come", () =>
    Effect.gen(function*() {
      const seen = yield* Deferred.make<void>()
      const stream = Stream.concat(
        Stream.make(Uint8Array.of(1, 2, 3, 4)),
        Stream.fromEffect(Effect.as(Deferred.await(seen), Uint8Array.of(5)))
      )
      const chunks = yield* Transfers.through(stream, () => Effect.void, { chunkSize: 4, inFlight: 3 }).pipe(
        Stream.tap(() => Deferred.succeed(seen, undefined)),
        Stream.runCollect
      )
      deepStrictEqual(chunks.map((chunk) => [...chunk]), [[1, 2, 3, 4], [5]])
    }).pipe(provided))

  it.effect("fail for chunks that never fit a pool, instead of waiting", () =>
    Effect.gen(function*() {
      const x = yield* BufferPool.allocate(256)
      const stream = Stream.make(new Uint8Array(256))
      const small = { maxBytes: 64, onExhausted: "wait" } as const
      const upload = Transfers.upload(stream, x, { chunkSize: 256 }).pipe(
        Effect.provide(StagingPool.layer(small))
      )
      strictEqual(yield* tagOf(upload), "LimitExceeded")
      const through = Stream.runDrain(Transfers.through(stream, () => Effect.void, { chunkSize: 256 })).pipe(
        Effect.provide(BufferPool.layer(small))
      )
      strictEqual(yield* tagOf(through), "LimitExceeded")
    }).pipe(Effect.scoped, provided))
})
