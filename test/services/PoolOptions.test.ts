import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import type { SizePolicy } from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hold, layer, open, outOfMemoryOf, reasonOf } from "../support/hostPool.ts"

const blockSize = (request: number) => request

const build = (sizePolicy: unknown) =>
  Effect.scoped(Layer.build(Layer.provide(
    BufferPool.layer({ sizePolicy: sizePolicy as SizePolicy }),
    Host.layer()
  )))

describe("a size policy", () => {
  const refused: ReadonlyArray<readonly [unknown, RegExp]> = [
    [{}, /no function blockSize/],
    [null, /no function blockSize/],
    [{ name: "p", borrow: 0, blockSize: 16 }, /no function blockSize/],
    [{ name: "p", blockSize }, /borrow undefined/],
    [{ name: "p", borrow: NaN, blockSize }, /borrow NaN/],
    [{ name: "p", borrow: Infinity, blockSize }, /borrow Infinity/],
    [{ name: "p", borrow: -0.5, blockSize }, /borrow -0.5/],
    [{ name: "p", borrow: "1", blockSize }, /borrow "1" is no finite number/]
  ]
  it.effect.each(refused)(
    "that is none is refused before a pool stands: %j",
    ([policy, message]) =>
      Effect.gen(function*() {
        const reason = yield* reasonOf(build(policy))
        strictEqual(reason._tag, "InvalidRequest")
        assert.match(reason.message, message)
      })
  )

  it.effect("of one's own needs a function and a finite borrow from 0", () =>
    Effect.forEach([0, 0.5, 3], (borrow) => build({ name: "own", borrow, blockSize })))
})

const isReleased = <A, R>(late: Effect.Effect<A, GpuError, R>, label: string) =>
  Effect.map(reasonOf(late), (reason) => {
    assert(reason._tag === "Released", reason.message)
    strictEqual(reason.label, label)
  })

describe("the pool's label", () => {
  const frames = { pool: { label: "frames", maxBytes: 100 } }

  it.effect("is that of leases without one, when memory is short", () =>
    Effect.gen(function*() {
      yield* hold([50])
      yield* BufferPool.allocate(50)
      yield* BufferPool.allocate(40, { label: "own" })
      const { holders, message } = yield* outOfMemoryOf(BufferPool.allocate(60))
      deepStrictEqual(holders.map(({ label }) => label), ["frames", "own"])
      assert.include(message, "frames: 1 lease, 50 B")
    }).pipe(Effect.scoped, Effect.provide(layer(frames))))

  it.effect("also when they are used late, or asked for too late", () =>
    Effect.gen(function*() {
      const opened = yield* open(frames)
      yield* Effect.gen(function*() {
        const lease = yield* Effect.scoped(BufferPool.allocate(8))
        const loan = yield* BufferPool.use(8, Effect.succeed)
        const scope = Scope.makeUnsafe()
        yield* Scope.close(scope, Exit.void)
        const inClosedScope = Scope.provide(BufferPool.allocate(8), scope)
        yield* isReleased(Lease.release(lease), "frames")
        yield* isReleased(CommandQueue.fill(loan, 1), "frames")
        yield* isReleased(inClosedScope, "frames")
        yield* isReleased(Scope.provide(BufferPool.allocate(8, { label: "own" }), scope), "own")
        yield* opened.closePool
        yield* isReleased(Effect.scoped(BufferPool.allocate(8)), "frames")
      }).pipe(Effect.provide(opened.context))
      yield* opened.closeHost
    }))
})
