/**
 * Memory under pressure: limits that change, budgets within a pool, handlers, trimming.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease, LeaseHolder, SizePolicy } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { type ConformanceTest, expectInvariants, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { liveBuffers, onAllocator } from "./AllocatorWatch.ts"
import { expectStats } from "./PoolOnDevice.ts"
import { expectOwn, fork, ownWork, untilWaiting, writeOwn } from "./Waiters.ts"

const test = inGroup("pressure", { counting: true })
const exact = { sizePolicy: SizePolicy.exact }
const patient = { ...exact, onExhausted: "wait" } as const

const underInnerBudget = Effect.fnUntraced(function*(outer: PooledBuffer) {
  const inner = yield* BufferPool.allocate(800, { label: "inner" })
  yield* writeOwn(inner, 3)
  const full = yield* Expect.failsWith("over what the outer budget has left", BufferPool.allocate(400), "OutOfMemory")
  Expect.same("the limit is the budget's", [full.limitName, full.limit], ["budget", 2000])
  Expect.same("who holds it", full.holders.map(({ label }) => label), ["outer", "inner"])
  const never = yield* Expect.failsWith("more than the inner budget allows", BufferPool.allocate(1504), "LimitExceeded")
  Expect.same("the limit", [never.limitName, never.limit], ["budget", 1500])
  Expect.equal("active bytes under it", (yield* BufferPool.stats).activeBytes, 800)
  yield* expectOwn("the inner lease's data", inner, 3)
  yield* expectOwn("the outer lease's data", outer, 2)
})

const tenant = (owner: number) => BufferPool.use(400, (lease) => ownWork(lease, owner))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a limit changes while requests wait", { pool: { ...patient, maxBytes: 4096 } }, function*() {
    const first = yield* BufferPool.allocate(3072)
    yield* writeOwn(first, 1)
    const large = yield* fork(Effect.flip(BufferPool.allocate(3000)))
    const small = yield* fork(BufferPool.use(1500, (lease) => ownWork(lease, 2)))
    yield* untilWaiting(2)
    yield* BufferPool.setLimit({ maxBytes: 2048 })
    const { limit } = Expect.reasonOf("a wait for too much", yield* Fiber.join(large), "LimitExceeded")
    Expect.equal("the new limit", limit, 2048)
    yield* expectStats("leases stay", { managedBytes: 3072, waiters: 1, driverFrees: 0 })
    yield* expectOwn("the data of a lease over the limit", first, 1)
    yield* Lease.release(first)
    yield* expectStats("the pool frees what is over the limit", { heldBytes: 0, driverFrees: 1 })
    yield* Fiber.join(small)
    const second = yield* BufferPool.allocate(1500)
    yield* writeOwn(second, 3)
    const third = yield* fork(BufferPool.use(1000, (lease) => ownWork(lease, 4)))
    yield* untilWaiting(1)
    yield* BufferPool.setLimit({ maxBytes: 4096 })
    yield* Fiber.join(third)
    yield* expectOwn("the data of a lease from before", second, 3)
    yield* BufferPool.setLimit({ maxBytes: 1500 })
    yield* expectStats("held blocks made room", { managedBytes: 1500, activeBlocks: 1 })
  }),
  test("a limit changes under load", { pool: { maxBytes: 2048, onExhausted: "wait" } }, function*() {
    const limits = [2048, 700, 4096, 1024, 600, 3000]
    const most = Math.max(...limits)
    const watch = Effect.map(BufferPool.stats, (stats) => {
      expectInvariants(stats)
      const used = stats.managedBytes + stats.pendingBytes
      Expect.isTrue(`${used} bytes are managed and pending, never more than ${most} are allowed`, used <= most)
    })
    const once = (owner: number) =>
      BufferPool.use(64 + 4 * (owner * 37 % 120), (lease) => Effect.andThen(watch, ownWork(lease, owner)))
    const fibers = yield* Effect.forEach(
      Array.from({ length: 20 }, (_, index) => index + 1),
      (owner) => fork(Effect.andThen(once(owner), once(owner + 50)))
    )
    for (const maxBytes of limits) {
      yield* BufferPool.setLimit({ maxBytes })
      for (let turn = 0; turn < 3; turn++) yield* Effect.yieldNow
    }
    yield* Fiber.joinAll(fibers)
    yield* BufferPool.setLimit({ maxBytes: 512 })
    const { managedBytes } = yield* BufferPool.stats
    Expect.isTrue(`${managedBytes} bytes are managed under a limit of 512`, managedBytes <= 512)
    yield* expectStats("all requests were served", { activeBlocks: 0, pendingBytes: 0, waiters: 0 })
  }),
  test("budgets nest, each with its own limit", { pool: { ...exact, maxBytes: 4000 } }, function*() {
    const outside = yield* BufferPool.allocate(1000, { label: "outside" })
    yield* writeOwn(outside, 1)
    yield* Effect.gen(function*() {
      Expect.equal("the limit", yield* BufferPool.maxBytes, 2000)
      const outer = yield* BufferPool.allocate(1000, { label: "outer" })
      yield* writeOwn(outer, 2)
      yield* underInnerBudget(outer).pipe(Effect.scoped, BufferPool.withBudget(1500))
      Expect.equal("active bytes after the inner budget has ended", (yield* BufferPool.stats).activeBytes, 1000)
      yield* BufferPool.use(1000, (lease) => ownWork(lease, 4))
    }).pipe(Effect.scoped, BufferPool.withBudget(2000))
    yield* BufferPool.use(3000, (lease) => ownWork(lease, 5))
    yield* expectOwn("the data of a lease outside", outside, 1)
  }),
  test("requests wait for a budget while the pool has room", { pool: exact }, function*() {
    yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], tenant, { concurrency: "unbounded", discard: true }).pipe(
      BufferPool.withBudget(1000, { onExhausted: "wait" })
    )
    yield* expectStats("two leases at a time", { peakActiveBlocks: 2, activeBlocks: 0, waiters: 0 })
  }),
  test("a transferred lease stays charged to its budget", { pool: exact }, function*() {
    const pool = yield* BufferPool.BufferPool
    const budget = yield* pool.budget(1000)
    const lease = yield* LeaseHolder.extract(budget.allocate(600))
    yield* writeOwn(lease, 1)
    yield* Expect.failsWith("a transferred lease stays charged", Effect.scoped(budget.allocate(500)), "OutOfMemory")
    yield* BufferPool.use(500, (other) => ownWork(other, 2))
    yield* expectOwn("its data", lease, 1)
    yield* Lease.release(lease)
    yield* budget.use(1000, (other) => ownWork(other, 3))
    Expect.equal("active bytes", (yield* budget.stats).activeBytes, 0)
  }),
  /** The cache moves its data to the host when another request needs the memory, and later back to the device. */
  test("a handler moves data to the host and back", { pool: { ...exact, maxBytes: 1536 } }, function*() {
    const asked: Array<string> = []
    const spilled: Array<Uint32Array> = []
    const cached = yield* BufferPool.allocate(1024)
    yield* writeOwn(cached, 1)
    yield* BufferPool.onOutOfMemory(() => Effect.sync(() => asked.push("has nothing") === 0))
    yield* BufferPool.onOutOfMemory(({ missing, requested }) =>
      Effect.gen(function*() {
        asked.push(`${requested} bytes, ${missing} missing`)
        if (!Lease.isLive(cached)) return false
        spilled.push(yield* CommandQueue.read(cached, Uint32Array))
        yield* Lease.release(cached)
        return true
      })
    )
    yield* BufferPool.use(1024, (lease) =>
      Effect.gen(function*() {
        yield* ownWork(lease, 2)
        const full = yield* Expect.failsWith("nothing is left to spill", BufferPool.allocate(1000), "OutOfMemory")
        Expect.equal("the last step", full.stepsTried.at(-1), "handlers")
        yield* expectOwn("the data of the lease that needed the memory", lease, 2)
      }))
    Expect.same("who was asked", asked, [
      "has nothing",
      "1024 bytes, 512 missing",
      "has nothing",
      "1000 bytes, 488 missing"
    ])
    const again = yield* BufferPool.allocate(1024)
    for (const words of spilled) yield* CommandQueue.write(again, words)
    yield* expectOwn("what came back from the host", again, 1)
  }),
  test("trimTo frees as many held blocks as needed, and no active one", { pool: exact }, function*() {
    const before = yield* liveBuffers
    yield* Effect.scoped(Effect.forEach([1024, 2048, 4096], (size) => BufferPool.allocate(size)))
    const kept = yield* BufferPool.allocate(512)
    yield* writeOwn(kept, 1)
    yield* BufferPool.trimTo(6000)
    yield* expectStats("the block that covers the need", { managedBytes: 5632, heldBlocks: 2, driverFrees: 1 })
    Expect.equal("buffers", (yield* liveBuffers) - before, 3)
    yield* BufferPool.trimTo(0)
    yield* expectStats("leases stay", { managedBytes: 512, heldBlocks: 0, driverFrees: 3 })
    Expect.equal("buffers", (yield* liveBuffers) - before, 1)
    yield* expectOwn("the data of the lease", kept, 1)
  }),
  test("after resumeHolding the pool holds blocks again", { pool: exact }, function*() {
    yield* BufferPool.stopHolding
    yield* BufferPool.use(64, (lease) => ownWork(lease, 1))
    yield* expectStats("nothing is kept", { managedBlocks: 0, driverFrees: 1 })
    yield* BufferPool.resumeHolding
    yield* BufferPool.use(64, (lease) => ownWork(lease, 2))
    yield* expectStats("kept again", { heldBlocks: 1, driverFrees: 1 })
    yield* BufferPool.use(64, (lease) => ownWork(lease, 3))
    yield* expectStats("and reused", { hits: 1 })
  }),
  test("maxHeldBytes frees the block that was held longest", { pool: { ...exact, maxHeldBytes: 1536 } }, function*() {
    yield* BufferPool.use(1024, (lease) => ownWork(lease, 1))
    yield* BufferPool.use(512, (lease) => ownWork(lease, 2))
    yield* expectStats("within the limit", { heldBytes: 1536, driverFrees: 0 })
    yield* BufferPool.use(768, (lease) => ownWork(lease, 3))
    yield* expectStats("the block that was held longest is free", { heldBytes: 1280, heldBlocks: 2, driverFrees: 1 })
    yield* BufferPool.use(4096, (lease) => ownWork(lease, 4))
    yield* expectStats("one over the limit is not held", { heldBytes: 1280, heldBlocks: 2, driverFrees: 2 })
  }),
  test("the idle clock frees idle blocks", function*() {
    const before = yield* liveBuffers
    const clock = yield* Layer.build(TestClock.layer({ warningDelay: "1 hour" }))
    const pool = yield* BufferPool.make({ ...exact, idleTimeToLive: "10 seconds", idleSteps: 1 }).pipe(
      onAllocator,
      Effect.provide(clock)
    )
    const expectHeld = (what: string, heldBytes: number) =>
      Effect.map(pool.stats, (stats) => Expect.equal(what, stats.heldBytes, heldBytes))
    const pass = (seconds: number) => Effect.provide(TestClock.adjust(seconds * 1000), clock)
    yield* pool.use(1024, (lease) => ownWork(lease, 1))
    yield* pass(6)
    yield* pool.use(1024, (lease) => ownWork(lease, 2))
    yield* pool.use(512, (lease) => ownWork(lease, 3))
    yield* pass(5)
    yield* expectHeld("held bytes that a request used a while ago", 1536)
    yield* pass(20)
    yield* expectHeld("held bytes that no request used", 0)
    Expect.equal("buffers", yield* liveBuffers, before)
  })
]
