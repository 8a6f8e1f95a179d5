import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import { reasonOf, tagOf } from "../support/hostPool.ts"
import * as Pools from "../support/sizedPools.ts"

class Pair implements LeaseHolder.LeaseHolder {
  readonly first: Pools.SizedLease
  readonly second: Pools.SizedLease
  constructor(first: Pools.SizedLease, second: Pools.SizedLease) {
    this.first = first
    this.second = second
  }
  *[LeaseHolder.LeaseHolder]() {
    yield this.first
    yield this.second
  }
}

const two = Effect.all([Pools.allocate(1), Pools.allocate(2)])

describe("leases", () => {
  it.effect("finds them in leases, tuples, records and holders, each once", () =>
    Effect.gen(function*() {
      const [a, b] = yield* two
      const prototypeless: Record<string, unknown> = Object.create(null)
      prototypeless["a"] = a
      const values: ReadonlyArray<readonly [unknown, ReadonlyArray<Pools.SizedLease>]> = [
        [a, [a]],
        [[a, b, a], [a, b]],
        [{ a, n: 1, deep: { list: [[b]] } }, [a, b]],
        [new Pair(a, b), [a, b]],
        [[new Pair(a, b), new Pair(b, a), a], [a, b]],
        [prototypeless, [a]],
        [[undefined, null, 1, "x", () => a, Symbol.iterator], []],
        [undefined, []],
        [new Map([["a", a]]), []],
        [Option.some(a), []]
      ]
      for (const [value, expected] of values) {
        deepStrictEqual([...LeaseHolder.leases(value)].sort((x, y) => x.size - y.size), [...expected])
      }
    }).pipe(Effect.scoped, Effect.provide(Pools.layer("buffers"))))

  it("ends on cycles, and does not care for depth", () => {
    const cycle: Array<unknown> = []
    cycle.push(cycle, { cycle })
    strictEqual(LeaseHolder.leases(cycle).size, 0)
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    strictEqual(LeaseHolder.leases(deep).size, 0)
  })
})

/** How often the event loop turns while an effect runs. */
const turnsOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    let turns = 0
    const count = () => {
      turns++
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    yield* effect
    clearImmediate(next)
    return turns
  })

describe("large results", () => {
  it.effect.each([
    ["an array of numbers", Array.from({ length: 1_000_000 }, (_, i) => i / 2)],
    ["rows", Array.from({ length: 1000 }, () => Array.from({ length: 1000 }, () => 1))],
    ["a sparse array", Object.assign([], { length: 1_000_000 })]
  ])("are looked through with other work in between: %s", ([, value]) =>
    Effect.gen(function*() {
      const lease = yield* Effect.scoped(LeaseHolder.extract(Effect.as(Effect.void, value)).pipe(turnsOf))
      assert.isAtLeast(lease, 10)
      const [, found] = yield* LeaseHolder.extract(
        Effect.map(Pools.allocate(8), (lease) => [value, lease] as const)
      )
      assert(Lease.isLive(found))
    }).pipe(Effect.scoped, Effect.provide(Pools.layer("buffers"))))

  it.effect("are not looked into where they are typed arrays", () =>
    Effect.gen(function*() {
      strictEqual(yield* turnsOf(LeaseHolder.extract(Effect.succeed(new Float64Array(5e7)))), 0)
    }).pipe(Effect.scoped, Effect.provide(Pools.layer("buffers"))))
})

describe.each(Pools.kinds)("extract, of a pool of %s,", (kind) => {
  it.effect("moves what the result holds and gives the rest back at once", () =>
    Effect.gen(function*() {
      const kept = yield* LeaseHolder.extract(Effect.gen(function*() {
        yield* Pools.allocate(100)
        const [a, b] = yield* two
        return { pair: new Pair(a, b), name: "pair" }
      }))
      strictEqual(kept.name, "pair")
      yield* Pools.hasStats({ activeBytes: 3, heldBytes: 100 })
      assert.isTrue(Lease.isLive(kept.pair.first) && Lease.isLive(kept.pair.second))
    }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind))))

  it.effect("leaves leases of other scopes where they are", () =>
    Effect.gen(function*() {
      const [outer, third] = [yield* Scope.make(), yield* Scope.make()]
      const theirs = yield* Scope.provide(Pools.allocate(1), third)
      yield* Scope.provide(LeaseHolder.extract(Effect.succeed([theirs])), outer)
      yield* Scope.close(outer, Exit.void)
      assert.isTrue(Lease.isLive(theirs))
      yield* Scope.close(third, Exit.void)
      assert.isFalse(Lease.isLive(theirs))
    }).pipe(Effect.provide(Pools.layer(kind))))

  it.effect("leaves a lease of `use` to its end", () =>
    Effect.gen(function*() {
      const loan = yield* Pools.use(1, (lease) => LeaseHolder.extract(Effect.succeed([lease])))
      assert.isFalse(Lease.isLive(loan[0]!))
      yield* Pools.hasStats({ activeBlocks: 0 })
    }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind))))

  it.effect("takes ended leases as they are", () =>
    Effect.gen(function*() {
      const ended = yield* LeaseHolder.extract(Effect.tap(Pools.allocate(1), Lease.release))
      assert.isFalse(Lease.isLive(ended))
    }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind))))

  it.effect("into a closed scope releases everything and says so", () =>
    Effect.gen(function*() {
      const closed = yield* Scope.make()
      yield* Scope.close(closed, Exit.void)
      const seen: Array<Pools.SizedLease> = []
      const reason = yield* reasonOf(Scope.provide(
        LeaseHolder.extract(Effect.tap(two, (leases) => Effect.sync(() => seen.push(...leases)))),
        closed
      ))
      assert(reason._tag === "Released", reason._tag)
      strictEqual(reason.why, "scopeClosed")
      deepStrictEqual(seen.map(Lease.isLive), [false, false])
      yield* Pools.hasStats({ activeBlocks: 0, heldBlocks: 2 })
    }).pipe(Effect.provide(Pools.layer(kind))))

  it.effect("gives everything back when its effect fails, dies or is interrupted", () =>
    Effect.gen(function*() {
      for (const end of [Effect.fail("failed"), Effect.die("died"), Effect.interrupt]) {
        const exit = yield* Effect.exit(LeaseHolder.extract(Effect.andThen(two, end)))
        assert.isTrue(Exit.isFailure(exit))
        yield* Pools.hasStats({ activeBlocks: 0, heldBlocks: 2 })
      }
    }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind))))

  it.effect("gives everything back when a holder throws", () =>
    Effect.gen(function*() {
      const broken = {
        [LeaseHolder.LeaseHolder](): Iterable<Pools.SizedLease> {
          throw new Error("broken holder")
        }
      }
      const exit = yield* Effect.exit(LeaseHolder.extract(Effect.map(two, (leases) => [leases, broken])))
      assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      yield* Pools.hasStats({ activeBlocks: 0, heldBlocks: 2 })
    }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind))))

  it.effect("moves the leases of several pools at once", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* Pools.open(kind), yield* Pools.open(kind)]
      const scope = yield* Scope.make()
      const leases = yield* Scope.provide(
        LeaseHolder.extract(Effect.all([one.pool.allocate(1), other.pool.allocate(2), one.pool.allocate(3)])),
        scope
      )
      deepStrictEqual(leases.map(Lease.isLive), [true, true, true])
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(leases.map(Lease.isLive), [false, false, false])
      for (const opened of [one, other]) {
        yield* opened.closePool
        yield* opened.closeHost
        strictEqual(opened.driverObjects.live, 0)
      }
    }))

  it.effect("with the pool closed inside, answers what the leases became", () =>
    Effect.gen(function*() {
      const opened = yield* Pools.open(kind)
      const lease = yield* LeaseHolder.extract(Effect.tap(opened.pool.allocate(1), () => opened.closePool))
      const reason = yield* reasonOf(Lease.release(lease))
      assert(reason._tag === "Released")
      strictEqual(reason.why, "poolClosed")
      strictEqual(yield* tagOf(LeaseHolder.extract(opened.pool.allocate(1))), "Released")
      yield* opened.closeHost
    }).pipe(Effect.scoped))
})
