/** The staging pool of a transfer closes, at any step of it. */
import { assert, describe, it } from "@effect/vitest"
import { Schedules } from "effect-schedules"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import * as Transfers from "../../src/services/staging/Transfers.ts"

const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()))

const chunks = { chunkSize: 4, inFlight: 2 } as const

const explored = (
  transfer: (lease: PooledBuffer) => Effect.Effect<unknown, GpuError, Transfers.Services>
) =>
  Schedules.explore(
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const staging = yield* Layer.buildWithScope(Layer.fresh(StagingPool.layer()), scope)
      const lease = yield* BufferPool.allocate(8)
      yield* Schedules.withIntruder(
        Effect.provide(transfer(lease), staging).pipe(
          Effect.catchIf(({ reason }) => reason._tag === "Released", () => Effect.void)
        ),
        () => Scope.close(scope, Exit.void)
      )
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(gpu))),
    { deviations: 1 }
  )

describe("the staging pool closes", () => {
  it.live("under an upload, which says so", () =>
    Effect.gen(function*() {
      const bytes = Stream.make(Uint32Array.of(1, 2))
      const { complete } = yield* explored((lease) => Transfers.upload(bytes, lease, chunks))
      assert.isTrue(complete)
    }))

  it.live("under a download, which goes on", () =>
    Effect.gen(function*() {
      const { complete } = yield* explored((lease) => Stream.runDrain(Transfers.download(lease, chunks)))
      assert.isTrue(complete)
    }))
})
