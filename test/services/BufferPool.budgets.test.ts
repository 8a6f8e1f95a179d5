import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { runs } from "../support/explore.ts"
import { hasStats, hold, layer, nextTurn, open, outOfMemoryOf, reasonOf, tagOf } from "../support/hostPool.ts"
import { Clients, patient, quiet } from "../support/poolClients.ts"
import { withEvents } from "../support/poolEvents.ts"

type Pool = BufferPool.Pool

/** The named counters of one pool or budget. */
const statsAre = (pool: Pool, expected: Partial<PoolStats>) =>
  Effect.map(pool.stats, (stats) => deepStrictEqual({ ...stats, ...expected }, stats))

const within = <A, E, R>(pool: Pool, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, BufferPool.BufferPool, pool)

const budget = (limit: number, options?: BufferPool.BudgetOptions) =>
  Effect.flatMap(BufferPool.BufferPool, (pool) => pool.budget(limit, options))

const counted = (pool: Pool) => Effect.map(pool.stats, ({ activeBlocks, managedBytes }) => [activeBlocks, managedBytes])

const labels = (pool: Pool) => Effect.map(pool.holders(2), (holders) => holders.map(({ label }) => label))

describe("a budget", () => {
  it.effect("counts the capacity of active leases, and frees it at their release", () =>
    Effect.gen(function*() {
      const job = yield* budget(256)
      const first = yield* job.allocate(100)
      yield* job.allocate(90)
      yield* statsAre(job, {
        activeBlocks: 2,
        activeBytes: 190,
        managedBlocks: 2,
        managedBytes: 256,
        misses: 2,
        peakActiveBlocks: 2,
        peakActiveBytes: 190,
        peakManagedBytes: 256
      })
      const error = yield* outOfMemoryOf(job.allocate(10, { label: "late" }))
      deepStrictEqual(
        [error.limitName, error.limit, error.activeBytes, error.managedBytes, error.heldBytes, error.pendingBytes],
        ["budget", 256, 190, 256, 0, 0]
      )
      assert.isTrue(error.isRetryable)
      assert.include(error.message, "budget 256 B, active 190 B, held 0 B, managed 256 B, pending 0 B")
      assert.include(error.message, "or raise the budget")
      assert.notInclude(error.message, "tried .")
      assert.notInclude(error.message, "tried ;")
      yield* Lease.release(first)
      yield* statsAre(job, { activeBytes: 90, managedBytes: 128, pendingBytes: 0, heldBlocks: 0, heldBytes: 0 })
      yield* job.allocate(10)
      yield* statsAre(job, { hits: 1, misses: 2, activeBytes: 100, managedBytes: 256 })
      // The pool itself has no such limit.
      yield* BufferPool.allocate(1000)
      yield* hasStats({ activeBlocks: 3, waiters: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { sizePolicy: SizePolicy.table([128]) } }))))

  it.effect("is what its effect gets for a pool, and nobody else", () =>
    Effect.gen(function*() {
      const outer = yield* BufferPool.BufferPool
      const limits = yield* BufferPool.maxBytes.pipe(
        BufferPool.withBudget(100),
        Effect.zip(BufferPool.withBudget(BufferPool.maxBytes, "1 KiB"))
      )
      deepStrictEqual(limits, [100, 1024])
      strictEqual(yield* BufferPool.maxBytes, Infinity)
      strictEqual(yield* BufferPool.BufferPool, outer)
    }).pipe(Effect.provide(layer())))

  it.effect("may be a share of the device's memory", () =>
    Effect.map(
      BufferPool.maxBytes.pipe(
        BufferPool.withBudget("25%"),
        Effect.provide(layer({ host: { capacityBytes: 4000 } }))
      ),
      (limit) => strictEqual(limit, 1000)
    ))

  it.effect.each([-1, 0.5, Number.NaN, "much", "101%", null, undefined, 2 ** 53])(
    "of %s is refused",
    (limit) =>
      Effect.gen(function*() {
        const reason = yield* reasonOf(BufferPool.withBudget(Effect.void, limit as number))
        strictEqual(reason._tag, "InvalidRequest")
        assert.include(reason.message, "BufferPool.withBudget")
      }).pipe(Effect.provide(layer()))
  )

  it.effect("whose options make no sense is refused", () =>
    Effect.gen(function*() {
      const reason = yield* reasonOf(BufferPool.withBudget(Effect.void, 10, { waitAtMost: -1 }))
      strictEqual(reason._tag, "InvalidRequest")
      assert.include(reason.message, "BufferPool.withBudget")
    }).pipe(Effect.provide(layer())))

  it.effect("fails at once for what is over it", () =>
    Effect.gen(function*() {
      for (const options of [undefined, patient]) {
        for (const request of [BufferPool.allocate(101, options), BufferPool.use(101, () => Effect.void, options)]) {
          const reason = yield* reasonOf(request)
          assert(reason._tag === "LimitExceeded", reason._tag)
          deepStrictEqual([reason.requested, reason.limitName, reason.limit], [101, "budget", 100])
        }
      }
      // An error of the pool's own limit names the pool.
      const reason = yield* reasonOf(BufferPool.withBudget(BufferPool.allocate(1001), 2000))
      assert(reason._tag === "LimitExceeded", reason._tag)
      strictEqual(reason.limitName, "maxBytes")
    }).pipe(BufferPool.withBudget(100), Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 1000 } }))))

  it.effect("takes the exact size where the policy's block does not fit", () =>
    withEvents({ pool: { sizePolicy: SizePolicy.table([128]) } }, (events) =>
      Effect.gen(function*() {
        const small = yield* budget(100)
        strictEqual(yield* small.use(70, ({ capacity }) => Effect.succeed(capacity)), 70)
        const job = yield* budget(200)
        strictEqual((yield* job.allocate(100)).capacity, 128)
        const rest = yield* job.allocate(70)
        strictEqual(rest.capacity, 70)
        yield* Lease.release(rest)
        // The first budget's freed block is used again.
        deepStrictEqual(events(), ["allocate 70", "allocate 128"])
        yield* statsAre(job, { managedBytes: 128, pendingBytes: 0 })
      })))

  it.effect("reuses blocks of exact sizes where only the budget around it is too small for the policy's block", () =>
    withEvents({ pool: { sizePolicy: SizePolicy.table([128]) } }, (events) =>
      Effect.gen(function*() {
        const outer = yield* budget(100)
        const inner = yield* within(outer, budget(1000))
        const capacity = inner.use(70, ({ capacity }) => Effect.succeed(capacity))
        deepStrictEqual([yield* capacity, yield* capacity], [70, 70])
        deepStrictEqual(events(), ["allocate 70"])
        yield* statsAre(inner, { hits: 1, misses: 1 })
      })))

  it.effect("is never exceeded by a borrowed block", () =>
    Effect.gen(function*() {
      yield* hold([2048])
      const capacity = BufferPool.use(1024, (lease) => Effect.succeed(lease.capacity))
      strictEqual(yield* BufferPool.withBudget(capacity, 1500), 1024)
      yield* BufferPool.freeHeld
      yield* hold([2048])
      strictEqual(yield* BufferPool.withBudget(capacity, 2048), 2048)
      yield* hasStats({ borrows: 1 })
    }).pipe(Effect.provide(layer({ pool: { sizePolicy: SizePolicy.sizeClasses(4, { borrow: 1 }) } }))))

  it.effect("counts a borrowed block with its own capacity", () =>
    Effect.gen(function*() {
      yield* hold([2048])
      const job = yield* budget(2100)
      yield* job.allocate(1024)
      yield* statsAre(job, { managedBytes: 2048, activeBytes: 1024, hits: 1, borrows: 1 })
      strictEqual(yield* tagOf(job.allocate(53)), "OutOfMemory")
      yield* job.allocate(52)
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ pool: { sizePolicy: SizePolicy.sizeClasses(4, { borrow: 1 }) } }))
    ))

  it.effect("leases zero bytes for nothing", () =>
    Effect.gen(function*() {
      const job = yield* budget(0)
      yield* job.allocate(0)
      yield* job.use(0, () => statsAre(job, { activeBlocks: 0, managedBytes: 0, hits: 0, misses: 0 }))
      strictEqual(yield* tagOf(job.allocate(1)), "LimitExceeded")
      deepStrictEqual(yield* job.holders(), [])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("is charged while a slow driver makes the block, and not when the request comes to nothing", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      const job = yield* budget(100)
      const first = yield* Effect.forkChild(job.allocate(60))
      const second = yield* Effect.forkChild(job.allocate(40))
      yield* quiet
      yield* statsAre(job, { pendingBytes: 100, activeBytes: 0, managedBytes: 0 })
      strictEqual(yield* tagOf(job.allocate(1)), "OutOfMemory")
      yield* Fiber.interrupt(first)
      yield* statsAre(job, { pendingBytes: 40 })
      faults.failAllocations({ error: "DriverError", nth: 2 })
      yield* TestClock.adjust("1 second")
      strictEqual(yield* tagOf(Fiber.join(second)), "DriverError")
      yield* statsAre(job, { pendingBytes: 0, managedBytes: 0, activeBlocks: 0, misses: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("is uncharged when it is the pool that has no memory", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      yield* BufferPool.allocate(950)
      const error = yield* outOfMemoryOf(job.allocate(60))
      deepStrictEqual([error.limitName, error.limit, error.activeBytes], ["maxBytes", 1000, 950])
      yield* statsAre(job, { pendingBytes: 0 })
      yield* job.allocate(50)
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 1000 } }))))

  it.effect("says what requests do that do not say it themselves, and the label of leases without one", () =>
    Effect.gen(function*() {
      const job = yield* budget(100, { onExhausted: "wait", waitAtMost: "1 second", label: "job" })
      yield* job.allocate(100)
      strictEqual((yield* outOfMemoryOf(job.allocate(1, { onExhausted: "fail" }))).holders[0]?.label, "job")
      const fiber = yield* Effect.forkChild(outOfMemoryOf(job.allocate(60)))
      yield* quiet
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      deepStrictEqual([error.limitName, error.waitedMillis, error.stepsTried], ["budget", 1000, ["wait"]])
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { label: "pool" } }))))

  it.effect("takes from the pool what it does not say", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      yield* job.allocate(100)
      const fiber = yield* Effect.forkChild(outOfMemoryOf(job.allocate(60)))
      yield* quiet
      yield* TestClock.adjust("1 second")
      const { holders, waitedMillis } = yield* Fiber.join(fiber)
      deepStrictEqual([holders[0]?.label, waitedMillis], ["pool", 1000])
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ pool: { label: "pool", onExhausted: "wait", waitAtMost: "1 second" } }))
    ))

  it.effect("lives on with whoever kept it", () =>
    Effect.gen(function*() {
      const job = yield* BufferPool.withBudget(BufferPool.BufferPool, 100)
      yield* job.allocate(60)
      strictEqual(yield* tagOf(job.allocate(60)), "OutOfMemory")
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("budgets within budgets", () => {
  it.effect("are 256 at most, and one more is refused", () =>
    Effect.gen(function*() {
      let innermost = yield* budget(1000)
      for (let within = 1; within < 256; within++) innermost = yield* innermost.budget(1000)
      yield* innermost.use(100, () => Effect.void)
      const reason = yield* reasonOf(innermost.budget(1000))
      assert(reason._tag === "InvalidRequest")
      assert.include(reason.problem, "the budget would be within 256 others, and 255 are the most")
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("each count what is leased under them, to any depth", () =>
    Effect.gen(function*() {
      const outer = yield* budget(100)
      const left = yield* outer.budget(80)
      const right = yield* outer.budget(80)
      const deep = yield* left.budget(1000)
      yield* deep.allocate(50, { label: "deep" })
      yield* right.allocate(30, { label: "right" })
      yield* outer.allocate(5, { label: "outer" })
      deepStrictEqual(yield* Effect.forEach([outer, left, right, deep], counted), [[3, 85], [1, 50], [1, 30], [1, 50]])
      // Each request is limited by the surrounding budget that has the least left.
      deepStrictEqual((yield* outOfMemoryOf(right.allocate(20))).limit, 100)
      deepStrictEqual((yield* outOfMemoryOf(deep.allocate(31))).limit, 80)
      const reason = yield* reasonOf(deep.allocate(101))
      assert(reason._tag === "LimitExceeded")
      strictEqual(reason.limit, 80)
      yield* right.allocate(15)
      strictEqual(yield* tagOf(deep.allocate(1)), "OutOfMemory")
      deepStrictEqual(yield* Effect.forEach([outer, left, right, deep], labels), [
        ["deep", "right"],
        ["deep"],
        ["right", undefined],
        ["deep"]
      ])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("wait for each other's memory without keeping what they do not use", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const outer = yield* budget(100)
      const [left, right] = [yield* outer.budget(80), yield* outer.budget(80)]
      yield* within(left, clients.ask("a", 70))
      yield* within(right, clients.askAll({ b: 60, c: 80 }))
      yield* statsAre(outer, { waiters: 1, pendingBytes: 0 })
      yield* statsAre(right, { waiters: 1, pendingBytes: 60 })
      yield* clients.interrupt("b")
      yield* statsAre(right, { waiters: 0, pendingBytes: 80 })
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["a", "b: interrupted", "c"])
      yield* clients.release("c")
      for (const pool of [outer, left, right]) yield* statsAre(pool, { pendingBytes: 0, managedBytes: 0, waiters: 0 })
    }).pipe(Effect.provide(layer())))

  it("never exceed any of their limits, whatever is asked for, and leave nothing behind", () => {
    const request = fc.record({
      from: fc.nat(3),
      size: fc.integer({ min: 0, max: 130 }),
      wait: fc.boolean(),
      turns: fc.nat(3),
      late: fc.nat(20)
    })
    return fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 60 }),
        fc.boolean(),
        (requests, lateFree) =>
          Effect.gen(function*() {
            const root = yield* BufferPool.BufferPool
            const outer = yield* root.budget(300)
            const pools = [root, outer, yield* outer.budget(150), yield* outer.budget(170)] as const
            const limits = [500, 300, 150, 170]
            const checked = Effect.gen(function*() {
              for (const [i, pool] of pools.entries()) {
                const { managedBytes, pendingBytes } = yield* pool.stats
                assert.isAtMost(managedBytes + pendingBytes, limits[i]!, `pool ${i}`)
                assert.isAtLeast(pendingBytes, 0)
              }
            })
            yield* Effect.forEach(requests, ({ from, late, size, turns, wait }) =>
              pools[from]!.use(size, ({ capacity }) =>
                Effect.gen(function*() {
                  assert.isAtLeast(capacity, size)
                  for (let turn = 0; turn <= turns; turn++) {
                    yield* Effect.andThen(checked, nextTurn)
                  }
                }), { onExhausted: wait ? "wait" : "fail" }).pipe(
                  late < 5 ? Effect.timeoutOption(late) : Effect.asVoid,
                  Effect.exit,
                  Effect.andThen(checked)
                ), { concurrency: "unbounded", discard: true })
            for (const pool of pools) {
              yield* statsAre(pool, { activeBlocks: 0, activeBytes: 0, pendingBytes: 0, waiters: 0 })
            }
          }).pipe(
            Effect.provide(layer({
              host: { lateFree },
              pool: { maxBytes: 500, sizePolicy: SizePolicy.sizeClasses(1, { borrow: 1 }) }
            })),
            Effect.runPromise
          )
      ),
      { numRuns: runs(100) }
    )
  })
})

describe("a lease that leaves its budget's place", () => {
  it.effect("stays charged to it when it is transferred, until it ends", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(100)
      const outer = Scope.makeUnsafe()
      const lease = yield* Effect.scoped(Effect.gen(function*() {
        const lease = yield* job.allocate(60)
        yield* Lease.transfer(lease, outer)
        return lease
      }))
      yield* statsAre(job, { activeBytes: 60, managedBytes: 60 })
      deepStrictEqual((yield* job.holders()).length, 1)
      yield* within(job, clients.ask("a", 50))
      deepStrictEqual(clients.log(), [])
      yield* Scope.close(outer, Exit.void)
      yield* quiet
      assert.isFalse(Lease.isLive(lease))
      deepStrictEqual(clients.log(), ["a"])
      yield* statsAre(job, { activeBytes: 50, managedBytes: 50, pendingBytes: 0 })
    }).pipe(Effect.provide(layer())))

  it.effect("also when it is extracted, and its intermediates are not", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      const kept = yield* LeaseHolder.extract(Effect.gen(function*() {
        yield* job.allocate(60)
        return yield* job.allocate(40)
      }))
      yield* statsAre(job, { activeBytes: 40, managedBytes: 40 })
      yield* Lease.release(kept)
      yield* statsAre(job, { activeBytes: 0, managedBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("and beside leases of the pool in the same scope", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.allocate(10)
        yield* job.allocate(20)
        yield* BufferPool.allocate(30)
        yield* job.allocate(40)
        yield* statsAre(job, { activeBlocks: 2, activeBytes: 60 })
        yield* hasStats({ activeBlocks: 4, activeBytes: 100 })
      }))
      yield* statsAre(job, { activeBlocks: 0, activeBytes: 0 })
      yield* hasStats({ activeBlocks: 0, heldBytes: 100 })
    }).pipe(Effect.provide(layer())))

  it.effect("ends with the pool", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const job = yield* opened.pool.budget(100)
      const nested = yield* job.budget(50)
      const scope = Scope.makeUnsafe()
      const leases = yield* Effect.forEach([job, nested, opened.pool], (pool) => pool.allocate(20)).pipe(
        Scope.provide(scope)
      )
      const loan = yield* Effect.forkChild(Effect.exit(nested.use(20, () => Effect.never)), { startImmediately: true })
      yield* quiet
      yield* opened.closePool
      deepStrictEqual(leases.map(({ ended }) => ended), ["poolClosed", "poolClosed", "poolClosed"])
      deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
      for (const pool of [job, nested]) {
        yield* statsAre(pool, { activeBlocks: 0, managedBytes: 0, pendingBytes: 0 })
        strictEqual(yield* tagOf(Effect.scoped(pool.allocate(1))), "Released")
      }
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.interrupt(loan)
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})

describe("waiting for a budget", () => {
  it.effect("is first come, first served, within the bound on bypassing", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(100)
      const ask = (name: string, size: number) => within(job, clients.ask(name, size))
      yield* ask("a", 60)
      yield* ask("large", 80)
      for (const name of ["s1", "s2"]) {
        yield* ask(name, 20)
        yield* clients.release(name)
      }
      yield* ask("s3", 20)
      strictEqual(yield* tagOf(job.allocate(20)), "OutOfMemory")
      deepStrictEqual(clients.log(), ["a", "s1", "s2"])
      yield* statsAre(job, { waiters: 2 })
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["large", "s3"])
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBypasses: 2 } }))))

  it.effect("does not keep others from the pool", () =>
    withEvents({ pool: { maxBytes: 1000 } }, (events) =>
      Effect.gen(function*() {
        const clients = new Clients()
        const [job, other] = [yield* budget(100), yield* budget(100)]
        yield* hold([50])
        yield* within(job, clients.askAll({ a: 100, b: 100, c: 60 }))
        yield* hasStats({ waiters: 2 })
        events()
        yield* BufferPool.use(50, () => Effect.void)
        yield* other.use(50, () => Effect.void)
        yield* Effect.scoped(BufferPool.allocate(850))
        deepStrictEqual(events(), ["allocate 850"])
        yield* clients.release("a")
        deepStrictEqual(clients.log(), ["a", "b"])
      })))

  it.effect("ends when one who waited before goes away", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(100)
      yield* within(job, clients.askAll({ a: 60, b: 80, c: 30 }))
      deepStrictEqual(clients.log(), ["a"])
      yield* clients.interrupt("b")
      deepStrictEqual(clients.log(), ["b: interrupted", "c"])
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBypasses: 0 } }))))

  it.effect("ends when one who waited before has waited for too long", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(100)
      yield* within(job, clients.ask("a", 60))
      yield* within(job, clients.ask("b", 80, { waitAtMost: "1 second" }))
      yield* within(job, clients.ask("c", 30))
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["a", "b: OutOfMemory", "c"])
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBypasses: 0 } }))))

  it.effect("ends when a block turns out smaller than it was charged for", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      const job = yield* budget(1000)
      yield* within(job, clients.askAll({ a: 350, b: 500 }))
      yield* statsAre(job, { pendingBytes: 600, waiters: 1 })
      // The driver has no 600 bytes, but 350 at last.
      faults.failAllocations({ times: 2 })
      yield* TestClock.adjust("3 seconds")
      strictEqual((yield* clients.lease("a")).capacity, 350)
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["a", "b"])
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { sizePolicy: SizePolicy.table([600]) } }))))

  it.effect("is over for the pool's wait queue, when it is the pool that has to be waited for next", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(50)
      yield* clients.ask("x", 60)
      yield* within(job, clients.askAll({ y: 45, z: 50 }))
      yield* statsAre(job, { waiters: 1 })
      // The budget is free now, and the driver has 46 of the 50 that it needs.
      yield* clients.release("y")
      deepStrictEqual(clients.log(), ["x", "y"])
      yield* statsAre(job, { waiters: 0, pendingBytes: 50 })
      yield* hasStats({ waiters: 1 })
      yield* clients.release("x")
      deepStrictEqual(clients.log(), ["z"])
      yield* hasStats({ waiters: 0 })
      yield* clients.release("z")
      yield* statsAre(job, { waiters: 0, pendingBytes: 0, managedBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 106 } }))))

  it.effect("cannot lead above the budget when the block that was too large before fits now", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      const job = yield* budget(1000)
      yield* clients.ask("pool", 1000)
      yield* within(job, clients.ask("l", 600))
      // The budget is charged with 350, since there is no room for 600; then the request waits for the pool.
      yield* within(job, clients.ask("a", 350))
      yield* hasStats({ waiters: 1 })
      yield* clients.release("l")
      faults.delay({ allocations: "1 second" })
      yield* clients.release("pool")
      yield* within(job, clients.ask("b", 650))
      const { managedBytes, pendingBytes } = yield* job.stats
      assert.isAtMost(managedBytes + pendingBytes, 1000)
      yield* TestClock.adjust("2 seconds")
      const after = yield* job.stats
      assert.isAtMost(after.managedBytes + after.pendingBytes, 1000)
      deepStrictEqual(clients.log().slice(0, 3), ["pool", "l", "a"])
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ pool: { maxBytes: 1600, sizePolicy: SizePolicy.table([600, 650, 1000]) } }))
    ))

  it.effect("is interruptible and leaves no trace", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      const lease = yield* job.allocate(100)
      const [before, ofPool] = [yield* job.stats, yield* BufferPool.stats]
      const requests = [Effect.scoped(job.allocate(60, patient)), job.use(60, () => Effect.never, patient)]
      for (const request of requests) {
        const fiber = yield* Effect.forkChild(Effect.exit(Effect.timeout(request, "1 second")))
        yield* quiet
        yield* statsAre(job, { waiters: 1 })
        yield* TestClock.adjust("1 second")
        assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
        deepStrictEqual([yield* job.stats, yield* BufferPool.stats], [before, ofPool])
      }
      yield* Lease.release(lease)
      yield* job.use(100, () => Effect.void)
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("the limit of a budget", () => {
  it.effect("changes while it runs: lowered it keeps new leases out and fails who can never fit", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(100)
      yield* within(job, clients.askAll({ a: 80, b: 90, c: 40 }))
      yield* job.setLimit({ maxBytes: 50 })
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b: LimitExceeded"])
      strictEqual(yield* job.maxBytes, 50)
      yield* statsAre(job, { activeBytes: 80, waiters: 1 })
      strictEqual(yield* tagOf(job.allocate(10)), "OutOfMemory")
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["c"])
      // The pool is as it was.
      strictEqual(yield* BufferPool.maxBytes, Infinity)
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("lowered around others fails those who wait within, and can never fit", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const outer = yield* budget(100)
      const inner = yield* outer.budget(90)
      yield* within(inner, clients.askAll({ a: 60, b: 80, c: 40 }))
      yield* outer.setLimit({ maxBytes: 70 })
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b: LimitExceeded"])
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("raised serves who fits now", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const job = yield* budget(100)
      yield* within(job, clients.askAll({ a: 100, b: 60, c: 50 }))
      yield* job.setLimit({ maxBytes: 160 })
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b"])
      yield* job.setLimit({ maxBytes: "1 KiB" })
      yield* quiet
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("has no default", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      strictEqual(yield* tagOf(job.setLimit({})), "InvalidRequest")
      strictEqual(yield* tagOf(job.setLimit({ maxBytes: -1 })), "InvalidRequest")
      strictEqual(yield* job.maxBytes, 100)
      yield* job.setLimit({ maxFraction: 0.5 })
      strictEqual(yield* job.maxBytes, 2000)
      yield* job.setLimit(Infinity)
      strictEqual(yield* job.maxBytes, Infinity)
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 4000 } }))))
})

describe("under a budget", () => {
  it.effect("freeHeld, trimTo, stopHolding and resumeHolding are the pool's", () =>
    Effect.gen(function*() {
      const job = yield* budget(10)
      yield* hold([100, 50, 30])
      yield* job.trimTo(100)
      yield* hasStats({ heldBytes: 80 })
      yield* job.freeHeld
      yield* hasStats({ heldBytes: 0 })
      yield* job.stopHolding
      yield* hold([100])
      yield* hasStats({ heldBytes: 0 })
      yield* job.resumeHolding
      yield* hold([100])
      yield* hasStats({ heldBytes: 100 })
    }).pipe(Effect.provide(layer())))

  it.effect("handlers are asked when it is exhausted, and those of the pool when that is", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const job = yield* budget(100)
      const noting = (name: string) => (need: BufferPool.Need) =>
        Effect.sync(() => {
          asked.push(`${name} ${need.requested} ${need.missing}`)
          return false
        })
      yield* BufferPool.onOutOfMemory(noting("pool"))
      yield* job.onOutOfMemory(noting("job"))
      yield* job.allocate(70)
      deepStrictEqual((yield* outOfMemoryOf(job.allocate(60))).stepsTried, ["handlers"])
      deepStrictEqual(asked.splice(0), ["job 60 30"])
      yield* BufferPool.allocate(100)
      deepStrictEqual((yield* outOfMemoryOf(job.allocate(30))).limitName, "maxBytes")
      deepStrictEqual(asked.splice(0), ["pool 30 10"])
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 190 } }))))

  it.effect("the stepsTried of an error are those of the budget that is exhausted, in their order", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const outer = yield* budget(100)
      const inner = yield* outer.budget(60)
      yield* outer.onOutOfMemory(() => Effect.succeed(false))
      yield* outer.allocate(40)
      const lease = yield* inner.allocate(60)
      yield* within(outer, clients.ask("first", 60))
      yield* within(inner, clients.ask("second", 50, { waitAtMost: "2 seconds" }))
      yield* Lease.release(lease)
      yield* TestClock.adjust("2 seconds")
      yield* quiet
      deepStrictEqual(clients.log(), ["first", "second: OutOfMemory"])
      const reason = yield* clients.reason("second")
      assert(reason._tag === "OutOfMemory")
      deepStrictEqual([reason.limit, reason.stepsTried, reason.waitedMillis], [100, ["handlers", "wait"], 2000])
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("a handler that frees its leases lets the request in", () =>
    Effect.gen(function*() {
      const cache = yield* Effect.forEach([30, 30, 30], (size) => BufferPool.allocate(size))
      yield* BufferPool.onOutOfMemory(() => {
        const oldest = cache.shift()
        return oldest === undefined ? Effect.succeed(false) : Effect.as(Lease.release(oldest), true)
      })
      yield* BufferPool.allocate(60)
      strictEqual(cache.length, 1)
    }).pipe(BufferPool.withBudget(100), Effect.scoped, Effect.provide(layer())))

  it.effect("device arrays are computed, and counted", () =>
    Effect.gen(function*() {
      const job = yield* budget(4096 * 4)
      const program = Effect.gen(function*() {
        const x = yield* DeviceArray.fromHost(Float32Array.from({ length: 1024 }, (_, i) => i))
        const y = yield* DeviceArray.full([1024], 2)
        const z = yield* DeviceArray.multiply(x, y)
        const total = yield* DeviceArray.toNumber(yield* DeviceArray.sum(z))
        const { activeBytes } = yield* BufferPool.stats
        return { total, activeBytes }
      }).pipe(Effect.scoped)
      const { activeBytes, total } = yield* within(job, program)
      strictEqual(total, 1023 * 1024)
      assert.isAtLeast(activeBytes, 4096)
      yield* statsAre(job, { activeBlocks: 0, managedBytes: 0, pendingBytes: 0 })
      const { peakManagedBytes } = yield* job.stats
      assert.isAtLeast(peakManagedBytes, activeBytes)
      strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      const error = yield* outOfMemoryOf(BufferPool.withBudget(program, 4097))
      strictEqual(error.limitName, "budget")
    }).pipe(Effect.provide(layer())))

  it.effect("nothing is counted of what others lease, and others count nothing of budgets", () =>
    Effect.gen(function*() {
      yield* hold([50, 60])
      const job = yield* budget(100)
      const gate = Deferred.makeUnsafe<void>()
      const fiber = yield* Effect.forkChild(job.use(50, () => Deferred.await(gate)), { startImmediately: true })
      yield* quiet
      const before = yield* job.stats
      for (let i = 0; i < 10; i++) yield* BufferPool.use(60, () => Effect.void)
      yield* Effect.scoped(BufferPool.allocate(60))
      deepStrictEqual(yield* job.stats, before)
      yield* hasStats({ hits: 12, misses: 2 })
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(layer())))

  it.effect("a pool that clears does so", () =>
    Effect.gen(function*() {
      const job = yield* budget(100)
      const dirty = yield* job.allocate(8)
      ;(yield* Host.bytes(dirty)).fill(7)
      yield* Lease.release(dirty)
      const clean = yield* job.allocate(8)
      yield* CommandQueue.finish
      deepStrictEqual([...(yield* Host.bytes(clean))], [0, 0, 0, 0, 0, 0, 0, 0])
      yield* statsAre(job, { hits: 1, misses: 1, managedBytes: 8 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { clear: "acquire" } }))))
})
