import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as fc from "fast-check"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { runs } from "../support/explore.ts"
import { decorated, hasStats, hold, layer, nextTurn, open, reasonOf } from "../support/hostPool.ts"

const seven = fc.nat(6)

/** Actions on a program's scopes and leases; `n` counts from the oldest. */
const actions = fc.oneof(
  { weight: 2, arbitrary: fc.record({ does: fc.constant("open" as const), parallel: fc.boolean() }) },
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constant("allocate" as const), n: seven, pool: fc.nat(1), empty: fc.boolean() })
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant("finalize" as const), n: seven }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("close" as const), n: seven }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("release" as const), n: seven }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("transfer" as const), n: seven, to: seven }) }
)

/** A scope, the finalizers that the program has added to it, and its leases. */
interface Open {
  readonly scope: Scope.Closeable
  readonly parallel: boolean
  readonly added: Array<number>
  readonly leases: Set<PooledBuffer.PooledBuffer>
}

/** Chooses among the open scopes in rotation, so that short and long ones mix. */
const at = <A>(list: ReadonlyArray<A>, n: number): A | undefined => list[n % Math.max(1, list.length)]

const kinds = ({ state }: Scope.Scope) => Object.entries(state).map(([name, value]) => [name, typeof value])

describe("each scope", () => {
  it("ends its own leases, and runs its own finalizers once, whatever other scopes came before it", () =>
    fc.assert(
      fc.asyncProperty(fc.array(actions, { maxLength: 60, size: "max" }), (program) =>
        Effect.runPromise(Effect.gen(function*() {
          const pools = [yield* open(), yield* open()] as const
          for (const { context } of pools) {
            yield* Effect.provide(hold([64, 64, 64, 64]), context)
          }
          const scopes: Array<Open> = []
          const leases: Array<PooledBuffer.PooledBuffer> = []
          const ran: Array<number> = []
          let added = 0
          for (const action of program) {
            const one = "n" in action ? at(scopes, action.n) : undefined
            const lease = "n" in action ? at(leases, action.n) : undefined
            const owner = scopes.find(({ leases }) =>
              lease !== undefined && leases.has(lease)
            )
            if (action.does === "open") {
              const scope = yield* Scope.make(action.parallel ? "parallel" : "sequential")
              scopes.push({ scope, parallel: action.parallel, added: [], leases: new Set() })
            } else if (action.does === "allocate" && one !== undefined) {
              const made = yield* Scope.provide(pools[action.pool]!.pool.allocate(action.empty ? 0 : 64), one.scope)
              one.leases.add(made)
              leases.push(made)
            } else if (action.does === "finalize" && one !== undefined) {
              const number = added++
              one.added.push(number)
              yield* Scope.addFinalizer(one.scope, Effect.sync(() => ran.push(number)))
            } else if (action.does === "close" && one !== undefined) {
              ran.length = 0
              yield* Scope.close(one.scope, Exit.void)
              const expected = [...one.added].sort((a, b) => b - a)
              deepStrictEqual(one.parallel ? [...ran].sort((a, b) => b - a) : ran, expected)
              scopes.splice(scopes.indexOf(one), 1)
            } else if (action.does === "release" && lease !== undefined && owner !== undefined) {
              yield* Lease.release(lease)
              owner.leases.delete(lease)
            } else if (action.does === "transfer" && lease !== undefined && owner !== undefined) {
              const to = at(scopes, action.to)!
              yield* Lease.transfer(lease, to.scope)
              owner.leases.delete(lease)
              to.leases.add(lease)
            }
            const live = new Set(scopes.flatMap(({ leases }) => [...leases]))
            deepStrictEqual(leases.map(Lease.isLive), leases.map((known) => live.has(known)))
          }
          for (const { closeHost, closePool } of pools) {
            yield* closePool
            yield* closeHost
          }
        }))),
      { numRuns: runs(300) }
    ))

  it.effect("that is closed is closed for a request whose driver call it has not waited for", () =>
    Effect.gen(function*() {
      const answered = yield* Deferred.make<void>()
      const slow = decorated((allocator) => ({
        ...allocator,
        allocate: (bytes, options) =>
          bytes < 1024
            ? allocator.allocate(bytes, options)
            : Effect.andThen(Deferred.await(answered), allocator.allocate(bytes, options))
      }))
      yield* Effect.gen(function*() {
        yield* hold([64])
        const first = yield* Scope.make()
        const late = yield* Effect.forkChild(Effect.exit(Scope.provide(BufferPool.allocate(1024), first)))
        yield* nextTurn
        yield* Scope.close(first, Exit.void)
        const second = yield* Scope.make()
        const lease = yield* Scope.provide(BufferPool.allocate(64), second)
        yield* Deferred.succeed(answered, undefined)
        const reason = yield* reasonOf(Effect.flatten(Fiber.join(late)))
        assert(reason._tag === "Released")
        strictEqual(reason.why, "scopeClosed")
        yield* hasStats({ activeBlocks: 1 })
        yield* Scope.close(second, Exit.void)
        strictEqual(Lease.isLive(lease), false)
        yield* hasStats({ activeBlocks: 0 })
      }).pipe(Effect.provide(layer({ allocator: slow })))
    }))

  it.effect("is in the state in which Effect has a scope with one finalizer", () =>
    Effect.gen(function*() {
      const [ours, effects] = [yield* Scope.make(), yield* Scope.make()]
      yield* Scope.addFinalizer(effects, Effect.void)
      yield* Scope.provide(BufferPool.allocate(64), ours)
      deepStrictEqual(kinds(ours), kinds(effects))
      yield* Scope.close(ours, Exit.void)
      yield* Scope.close(effects, Exit.void)
    }).pipe(Effect.provide(layer())))

  it.effect("has a list from the step in which it gets a lease, and leaves the list to the next one", () =>
    Effect.gen(function*() {
      yield* hold([64])
      const listOf = Effect.map(BufferPool.allocate(64), (lease) => {
        assert(lease.list !== undefined)
        return lease.list
      })
      const [one, two] = [yield* Effect.scoped(listOf), yield* Effect.scoped(listOf)]
      strictEqual(one, two)
      const nested = yield* Effect.scoped(
        Effect.flatMap(
          listOf,
          (outer) => Effect.map(Effect.scoped(listOf), (inner): ReadonlyArray<unknown> => [outer, inner])
        )
      )
      assert.notStrictEqual(nested[0], nested[1])
      // A request may use its list after its scope has closed.
      const miss: Effect.Effect<unknown, GpuError, Scope.Scope | BufferPool.BufferPool> = Effect.andThen(
        BufferPool.allocate(128),
        listOf
      )
      const [missed, after] = [yield* Effect.scoped(miss), yield* Effect.scoped(listOf)]
      assert.notStrictEqual(missed, after)
    }).pipe(Effect.provide(layer())))
})
