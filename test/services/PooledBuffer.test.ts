import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as CommandQueue from "../../src/services/CommandQueue.ts"
import * as PooledBuffer from "../../src/services/PooledBuffer.ts"
import { hasStats, layer, reasonOf, tagOf } from "../support/hostPool.ts"

const closedScope = Effect.tap(Scope.make(), (scope) => Scope.close(scope, Exit.void))

describe("a lease", () => {
  it.effect("says what it is", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(5, { label: "x", usage: BufferUsage.storage })
      deepStrictEqual([lease.size, lease.capacity, lease.usage, lease.label], [5, 8, BufferUsage.storage, "x"])
      strictEqual(String(lease), `PooledBuffer("x", 5 of 8 B, storage, live on host process memory)`)
      yield* PooledBuffer.release(lease)
      strictEqual(String(lease), `PooledBuffer("x", 5 of 8 B, storage, released)`)
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { granularity: 4 } }))))

  it.effect("is a new one each time, so an old one never reaches the next owner's memory", () =>
    Effect.gen(function*() {
      const old = yield* BufferPool.use(4, Effect.succeed)
      const lease = yield* BufferPool.allocate(4)
      yield* hasStats({ hits: 1 })
      yield* CommandQueue.write(lease, Uint32Array.of(1))
      for (
        const attempt of [
          CommandQueue.write(old, Uint32Array.of(2)),
          CommandQueue.fill(old, 2),
          CommandQueue.read(old, Uint32Array),
          CommandQueue.copy(old, lease),
          CommandQueue.copy(lease, old),
          PooledBuffer.release(old),
          PooledBuffer.transfer(old, yield* Effect.scope)
        ]
      ) {
        strictEqual(yield* tagOf<unknown, CommandQueue.CommandQueue>(attempt), "Released")
      }
      deepStrictEqual([...(yield* CommandQueue.read(lease, Uint32Array))], [1])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("release", () => {
  it.effect("gives the block back once", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4, { label: "x" })
      yield* PooledBuffer.release(lease)
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
      const reason = yield* reasonOf(PooledBuffer.release(lease))
      assert(reason._tag === "Released")
      deepStrictEqual(
        [reason.operation, reason.label, reason.size, reason.why],
        ["PooledBuffer.release", "x", 4, "released"]
      )
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("in any order leaves the others as they are", () =>
    Effect.gen(function*() {
      const leases = yield* Effect.forEach([1, 2, 3, 4, 5], (size) => BufferPool.allocate(size))
      for (const i of [2, 0, 4]) yield* PooledBuffer.release(leases[i]!)
      deepStrictEqual(leases.map(PooledBuffer.isLive), [false, true, false, true, false])
      yield* hasStats({ activeBytes: 2 + 4 })
      yield* PooledBuffer.release(leases[3]!)
      yield* PooledBuffer.release(leases[1]!)
      yield* hasStats({ activeBlocks: 0, heldBlocks: 5 })
      yield* BufferPool.allocate(6)
    }).pipe(
      Effect.scoped,
      Effect.andThen(hasStats({ activeBlocks: 0, heldBlocks: 6 })),
      Effect.provide(layer())
    ))

  it.effect("is lazy: the effect alone releases nothing", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(4)
      const later = PooledBuffer.release(lease)
      assert.isTrue(PooledBuffer.isLive(lease))
      yield* later
      assert.isFalse(PooledBuffer.isLive(lease))
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("transfer", () => {
  it.effect("makes the lease live as long as the other scope", () =>
    Effect.gen(function*() {
      const [from, to] = [yield* Scope.make(), yield* Scope.make()]
      const lease = yield* Scope.provide(BufferPool.allocate(4), from)
      const stays = yield* Scope.provide(BufferPool.allocate(4), from)
      yield* PooledBuffer.transfer(lease, to)
      yield* Scope.close(from, Exit.void)
      deepStrictEqual([lease, stays].map(PooledBuffer.isLive), [true, false])
      yield* CommandQueue.fill(lease, 1)
      yield* Scope.close(to, Exit.void)
      strictEqual(lease.ended, "scopeClosed")
      yield* hasStats({ activeBlocks: 0, heldBlocks: 2 })
    }).pipe(Effect.provide(layer())))

  it.effect("to its own scope, or back and forth, changes nothing", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* Scope.make(), yield* Scope.make()]
      const lease = yield* Scope.provide(BufferPool.allocate(4), one)
      const sibling = yield* Scope.provide(BufferPool.allocate(4), one)
      for (const scope of [one, two, one, one]) yield* PooledBuffer.transfer(lease, scope)
      yield* Scope.close(two, Exit.void)
      deepStrictEqual([lease, sibling].map(PooledBuffer.isLive), [true, true])
      yield* Scope.close(one, Exit.void)
      deepStrictEqual([lease, sibling].map(PooledBuffer.isLive), [false, false])
      yield* hasStats({ activeBlocks: 0, heldBlocks: 2 })
    }).pipe(Effect.provide(layer())))

  it.effect("into a closed scope releases it and says so", () =>
    Effect.gen(function*() {
      for (const size of [4, 0]) {
        const lease = yield* BufferPool.allocate(size, { label: "x" })
        const reason = yield* reasonOf(PooledBuffer.transfer(lease, yield* closedScope))
        assert(reason._tag === "Released")
        deepStrictEqual([reason.operation, reason.label, reason.why], ["PooledBuffer.transfer", "x", "scopeClosed"])
        strictEqual(lease.ended, "scopeClosed")
      }
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of an ended lease fails with why it ended, and does not touch the scope", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.use(4, Effect.succeed)
      const scope = yield* Scope.make()
      const reason = yield* reasonOf(PooledBuffer.transfer(lease, scope))
      assert(reason._tag === "Released")
      strictEqual(reason.why, "scopeClosed")
      strictEqual(scope.state._tag, "Empty")
    }).pipe(Effect.provide(layer())))

  it.effect("keeps a loan beyond its use", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const lease = yield* BufferPool.use(4, (loan) => Effect.as(PooledBuffer.transfer(loan, scope), loan))
      assert.isTrue(PooledBuffer.isLive(lease))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(PooledBuffer.isLive(lease))
    }).pipe(Effect.provide(layer())))

  it.effect("puts the lease under the scope's finalizer, in its place", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const seen: Array<boolean> = []
      const lease = yield* BufferPool.allocate(4)
      yield* Scope.addFinalizer(scope, Effect.sync(() => seen.push(PooledBuffer.isLive(lease))))
      yield* PooledBuffer.transfer(lease, scope)
      yield* Scope.addFinalizer(scope, Effect.sync(() => seen.push(PooledBuffer.isLive(lease))))
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(seen, [true, false])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})
