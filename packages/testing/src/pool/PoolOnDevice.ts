/**
 * The pool on a real device: what it counts, keeps and frees. No test here needs the device to run a command.
 *
 * @internal
 */
import { BufferPool, BufferUsage, CommandQueue, EvictionPolicy, Lease, LeaseHolder, SizePolicy } from "effect-gpu-pool"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ConformanceTest, expectInvariants, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { liveBuffers, onAllocator } from "./AllocatorWatch.ts"

const test = inGroup("pool", { counting: true })
const exact = { sizePolicy: SizePolicy.exact }
const powersOfTwo = { sizePolicy: SizePolicy.sizeClasses(0) }

/** Some counters of the pool, after a check that all of them are consistent. */
export const expectStats = (what: string, expected: Partial<PoolStats>) =>
  Effect.map(BufferPool.stats, (stats) => {
    expectInvariants(stats)
    const names = Object.keys(expected) as Array<keyof PoolStats>
    Expect.same(what, Object.fromEntries(names.map((name) => [name, stats[name]])), expected)
  })

const stopHolding = Effect.gen(function*() {
  const kept = yield* BufferPool.allocate(64)
  yield* BufferPool.use(128, () => Effect.void)
  yield* BufferPool.stopHolding
  yield* expectStats("held blocks are gone", { heldBlocks: 0, activeBlocks: 1, driverFrees: 1 })
  yield* BufferPool.use(128, () => Effect.void)
  yield* expectStats("nothing is kept", { heldBlocks: 0, misses: 3, driverFrees: 2 })
  yield* CommandQueue.fill(kept, 1)
  yield* Lease.release(kept)
  yield* expectStats("no active blocks are left", { managedBlocks: 0, driverFrees: 3 })
})

/** Trims a pool step by step, after the same requests each time: every eviction policy frees blocks in another order. */
const evictions = [
  [EvictionPolicy.byNeed, [700, 300, 200]],
  [EvictionPolicy.largestFirst, [400, 400, 200]],
  [EvictionPolicy.oldestFirst, [700, 100, 100]],
  [EvictionPolicy.leastRecentlyUsed, [600, 200, 200]]
] as const

const evictsInOrder = Effect.fnUntraced(function*(left: ReadonlyArray<number>) {
  const before = yield* liveBuffers
  // A scope releases its last lease first. Then the first block is used once more.
  yield* Effect.scoped(Effect.forEach([100, 400, 200, 100], (size) => BufferPool.allocate(size)))
  yield* BufferPool.use(100, () => Effect.void)
  const held = yield* Effect.forEach(
    [700, 450, 250],
    (bytes) => Effect.andThen(BufferPool.trimTo(bytes), Effect.map(BufferPool.stats, ({ heldBytes }) => heldBytes))
  )
  Expect.same("held bytes", held, left)
  const { heldBlocks } = yield* BufferPool.stats
  Expect.equal("buffers that are left", (yield* liveBuffers) - before, heldBlocks)
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("counts blocks and bytes as they come and go", function*() {
    const before = yield* liveBuffers
    yield* Effect.scoped(Effect.gen(function*() {
      const a = yield* BufferPool.allocate(1000)
      const b = yield* BufferPool.allocate(24)
      Expect.same("leases", [a.size, a.capacity, b.size, b.capacity], [1000, 1024, 24, 24])
      Expect.equal("buffers for two leases", (yield* liveBuffers) - before, 2)
      yield* expectStats("two leases", {
        activeBlocks: 2,
        activeBytes: 1024,
        heldBlocks: 0,
        managedBytes: 1048,
        misses: 2,
        driverAllocations: 2
      })
    }))
    yield* expectStats("held", { activeBlocks: 0, activeBytes: 0, heldBlocks: 2, heldBytes: 1048, managedBytes: 1048 })
    yield* Effect.scoped(Effect.andThen(BufferPool.allocate(1001), expectStats("a hit", { hits: 1, heldBlocks: 1 })))
    yield* BufferPool.freeHeld
    yield* expectStats("freed", { heldBlocks: 0, managedBytes: 0, driverFrees: 2, peakActiveBytes: 1024 })
    Expect.equal("buffers after freeHeld", yield* liveBuffers, before)
  }),
  test("keeps blocks of different usages apart", function*() {
    yield* BufferPool.use(64, () => Effect.void)
    yield* BufferPool.use(64, () => Effect.void, { usage: BufferUsage.copyDst | BufferUsage.copySrc })
    yield* expectStats("a block per usage", { hits: 0, misses: 2, heldBlocks: 2 })
    yield* BufferPool.use(64, () => Effect.void, { usage: BufferUsage.copySrc | BufferUsage.copyDst })
    yield* expectStats("reuse of the same usage", { hits: 1, misses: 2 })
  }),
  test("borrows from a larger bin, up to the size policy's bound", function*() {
    yield* BufferPool.use(1000, () => Effect.void)
    yield* BufferPool.use(600, (lease) => Effect.sync(() => Expect.equal("a borrowed block", lease.capacity, 1024)))
    yield* expectStats("a borrow", { hits: 1, borrows: 1, misses: 1 })
    yield* BufferPool.use(400, (lease) => Effect.sync(() => Expect.equal("a block of its own", lease.capacity, 400)))
    yield* expectStats("too large to borrow", { borrows: 1, misses: 2 })
  }),
  test("reuses the block that came back last", function*() {
    const [first, second] = yield* Effect.scoped(
      Effect.all([BufferPool.allocate(64), BufferPool.allocate(64)]).pipe(
        Effect.map((leases) => leases.map((lease) => BufferLike.deviceBuffer(lease)))
      )
    )
    const again = yield* BufferPool.allocate(64)
    const other = yield* BufferPool.allocate(64)
    Expect.isTrue("a scope releases its last lease first", BufferLike.deviceBuffer(again) === first)
    Expect.isTrue("the other block follows", BufferLike.deviceBuffer(other) === second)
  }),
  test("frees at once after stopHolding", stopHolding),
  test("leases of no bytes work with every operation and count none", function*() {
    const before = yield* liveBuffers
    const lease = yield* BufferPool.allocate(0, { label: "nothing" })
    const other = yield* BufferPool.allocate(0)
    const real = yield* BufferPool.allocate(16)
    Expect.same("a zero-byte lease", [lease.size, lease.capacity, Lease.isLive(lease)], [0, 0, true])
    yield* CommandQueue.write(lease, new Uint8Array(0))
    yield* CommandQueue.fill(lease, 7)
    yield* CommandQueue.copy(lease, other)
    yield* CommandQueue.copy(lease, real, { size: 0 })
    yield* CommandQueue.copy(real, lease, { size: 0 })
    Expect.equal("a read", (yield* CommandQueue.read(lease, Float32Array)).length, 0)
    yield* CommandQueue.readInto(lease, new Uint8Array(0))
    const outer = yield* Effect.scope
    yield* Lease.transfer(lease, outer)
    yield* Lease.release(lease)
    Expect.isTrue("released", !Lease.isLive(lease))
    yield* Expect.failsWith("a released lease of an empty buffer", CommandQueue.fill(lease, 0), "Released")
    yield* BufferPool.use(0, (loan) => CommandQueue.write(loan, new ArrayBuffer(0)))
    const kept = yield* LeaseHolder.extract(BufferPool.allocate(0))
    Expect.isTrue("extracted", Lease.isLive(kept))
    Expect.equal("buffers: one for the real lease", (yield* liveBuffers) - before, 1)
    yield* expectStats("counted nowhere", { activeBlocks: 1, activeBytes: 16, hits: 0, misses: 1 })
  }),
  ...evictions.map(([eviction, left]) =>
    test(`evicts in the order ${eviction.name}`, { pool: { eviction, ...exact } }, evictsInOrder(left))
  ),
  /** Under a byte limit the pool knows how many bytes are missing, so it evicts without a call of the driver. */
  test("evicts the smallest held block that is large enough", { pool: { maxBytes: 1000, ...exact } }, function*() {
    yield* Effect.scoped(Effect.forEach([100, 200, 400], (size) => BufferPool.allocate(size)))
    yield* expectStats("three held blocks", { heldBytes: 700 })
    yield* BufferPool.use(500, () => expectStats("the covering block made room", { heldBytes: 500, driverFrees: 1 }))
    yield* BufferPool.use(900, () => expectStats("no more blocks than needed", { heldBytes: 100, driverFrees: 3 }))
  }),
  test("tells the stepsTried that it tried and the holders", { pool: { maxBytes: 1000, ...exact } }, function*() {
    const first = yield* BufferPool.allocate(600, { label: "first" })
    const second = yield* BufferPool.allocate(300, { label: "second" })
    const refused = yield* Effect.flip(BufferPool.allocate(200, { label: "third" }))
    const reason = Expect.reasonOf("over the limit", refused, "OutOfMemory")
    const { activeBytes, blockSize, heldBytes, limit, managedBytes, requested, pendingBytes } = reason
    Expect.same(
      "evidence",
      { requested, blockSize, limit, activeBytes, heldBytes, managedBytes, pendingBytes },
      {
        requested: 200,
        blockSize: 200,
        limit: 1000,
        activeBytes: 900,
        heldBytes: 0,
        managedBytes: 900,
        pendingBytes: 0
      }
    )
    Expect.same("holders", reason.holders.map(({ label, size }) => [label, size]), [["first", 600], ["second", 300]])
    Expect.equal("isRetryable", reason.isRetryable, true)
    yield* Lease.release(first)
    yield* BufferPool.use(200, () => expectStats("room after a release", { activeBytes: 500 }))
    yield* Lease.release(second)
  }),
  test(
    "tries the exact size when the block size is too large",
    { pool: { maxBytes: 2024, ...powersOfTwo } },
    function*() {
      const kept = yield* BufferPool.allocate(1024)
      yield* BufferPool.use(1000, (lease) =>
        Effect.gen(function*() {
          Expect.equal("a block without slack", lease.capacity, 1000)
          yield* expectStats("both fit", { managedBytes: 2024, activeBlocks: 2 })
        }))
      yield* expectStats("it belongs to no bin", { heldBlocks: 0, managedBytes: 1024, driverFrees: 1 })
      yield* Lease.release(kept)
    }
  ),
  test("never exceeds its limit, however many fibers ask", { pool: { maxBytes: 4096 } }, function*() {
    const limit = 4096
    const watch = Effect.map(BufferPool.stats, (stats) => {
      expectInvariants(stats)
      const used = stats.managedBytes + stats.pendingBytes
      Expect.isTrue(`${used} bytes are managed and pending under a limit of ${limit}`, used <= limit)
    })
    const patient = (index: number) =>
      BufferPool.use(100 + 4 * (index % 200), () => Effect.andThen(watch, Effect.yieldNow)).pipe(
        Effect.tapError(() => Effect.yieldNow),
        Effect.retry({ while: (error) => error.isRetryable }),
        Effect.andThen(watch)
      )
    yield* Effect.forEach(Array.from({ length: 200 }, (_, index) => index), patient, {
      concurrency: "unbounded",
      discard: true
    })
    yield* expectStats("all requests were served", { activeBlocks: 0, pendingBytes: 0 })
  }),
  test("ends its leases when it closes first", function*() {
    const before = yield* liveBuffers
    const leases = yield* Scope.make()
    const lease = yield* Effect.scoped(Effect.gen(function*() {
      const pool = yield* onAllocator(BufferPool.make())
      const lease = yield* Scope.provide(pool.allocate(64, { label: "orphan" }), leases)
      yield* CommandQueue.fill(lease, 1)
      return lease
    }))
    Expect.equal("buffers after the pool's end", yield* liveBuffers, before)
    const { why } = yield* Expect.failsWith("an orphaned lease", CommandQueue.fill(lease, 2), "Released")
    Expect.equal("why", why, "poolClosed")
    yield* Scope.close(leases, Exit.void)
    yield* CommandQueue.finish
  })
]
