import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hasStats, layer, reasonOf, tagOf } from "../support/hostPool.ts"

const closedScope = Effect.tap(Scope.make(), (scope) => Scope.close(scope, Exit.void))

describe("a lease", () => {
  it.effect("says what it is", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(5, { label: "x", usage: BufferUsage.storage })
      deepStrictEqual([lease.size, lease.capacity, lease.usage, lease.label], [5, 8, BufferUsage.storage, "x"])
      strictEqual(String(lease), `PooledBuffer("x", 5 of 8 B, storage, live on host process memory)`)
      yield* Lease.release(lease)
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
          Lease.release(old),
          Lease.transfer(old, yield* Effect.scope)
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
      yield* Lease.release(lease)
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
      const reason = yield* reasonOf(Lease.release(lease))
      assert(reason._tag === "Released")
      deepStrictEqual(
        [reason.operation, reason.label, reason.size, reason.why],
        ["Lease.release", "x", 4, "released"]
      )
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("in any order leaves the others as they are", () =>
    Effect.gen(function*() {
      const leases = yield* Effect.forEach([1, 2, 3, 4, 5], (size) => BufferPool.allocate(size))
      for (const i of [2, 0, 4]) yield* Lease.release(leases[i]!)
      deepStrictEqual(leases.map(Lease.isLive), [false, true, false, true, false])
      yield* hasStats({ activeBytes: 2 + 4 })
      yield* Lease.release(leases[3]!)
      yield* Lease.release(leases[1]!)
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
      const later = Lease.release(lease)
      assert.isTrue(Lease.isLive(lease))
      yield* later
      assert.isFalse(Lease.isLive(lease))
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("transfer", () => {
  it.effect("makes the lease live as long as the other scope", () =>
    Effect.gen(function*() {
      const [from, to] = [yield* Scope.make(), yield* Scope.make()]
      const lease = yield* Scope.provide(BufferPool.allocate(4), from)
      const stays = yield* Scope.provide(BufferPool.allocate(4), from)
      yield* Lease.transfer(lease, to)
      yield* Scope.close(from, Exit.void)
      deepStrictEqual([lease, stays].map(Lease.isLive), [true, false])
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
      for (const scope of [one, two, one, one]) yield* Lease.transfer(lease, scope)
      yield* Scope.close(two, Exit.void)
      deepStrictEqual([lease, sibling].map(Lease.isLive), [true, true])
      yield* Scope.close(one, Exit.void)
      deepStrictEqual([lease, sibling].map(Lease.isLive), [false, false])
      yield* hasStats({ activeBlocks: 0, heldBlocks: 2 })
    }).pipe(Effect.provide(layer())))

  it.effect("into a closed scope releases it and says so", () =>
    Effect.gen(function*() {
      for (const size of [4, 0]) {
        const lease = yield* BufferPool.allocate(size, { label: "x" })
        const reason = yield* reasonOf(Lease.transfer(lease, yield* closedScope))
        assert(reason._tag === "Released")
        deepStrictEqual([reason.operation, reason.label, reason.why], ["Lease.transfer", "x", "scopeClosed"])
        strictEqual(lease.ended, "scopeClosed")
      }
      yield* hasStats({ activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("of an ended lease fails with why it ended, and does not touch the scope", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.use(4, Effect.succeed)
      const scope = yield* Scope.make()
      const reason = yield* reasonOf(Lease.transfer(lease, scope))
      assert(reason._tag === "Released")
      strictEqual(reason.why, "scopeClosed")
      strictEqual(scope.state._tag, "Empty")
    }).pipe(Effect.provide(layer())))

  it.effect("keeps a lease of `use` beyond its end", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const lease = yield* BufferPool.use(4, (loan) => Effect.as(Lease.transfer(loan, scope), loan))
      assert.isTrue(Lease.isLive(lease))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Lease.isLive(lease))
    }).pipe(Effect.provide(layer())))

  it.effect("puts the lease under the scope's finalizer, in its place", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const seen: Array<boolean> = []
      const lease = yield* BufferPool.allocate(4)
      yield* Scope.addFinalizer(scope, Effect.sync(() => seen.push(Lease.isLive(lease))))
      yield* Lease.transfer(lease, scope)
      yield* Scope.addFinalizer(scope, Effect.sync(() => seen.push(Lease.isLive(lease))))
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(seen, [true, false])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})
