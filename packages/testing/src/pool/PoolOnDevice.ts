/**
 * The pool on a real device: its counters against the driver's, and the data of owners who wait for each other's memory.
 * What a pool decides is the same on every device, and not tested here.
 *
 * @internal
 */
import { Allocator, BufferPool, CommandQueue, Lease, SizePolicy } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { type ConformanceTest, expectInvariants, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectUsable } from "../memory/BadRequests.ts"
import { liveBuffers, onAllocator } from "./AllocatorWatch.ts"
import { expectOwn, fork, ownWork, untilWaiting, writeOwn } from "./Waiters.ts"

const test = inGroup("pool", { counting: true })

/** Some counters of the pool, after a check that all of them are consistent. */
export const expectStats = (what: string, expected: Partial<PoolStats>) =>
  Effect.map(BufferPool.stats, (stats) => {
    expectInvariants(stats)
    const names = Object.keys(expected) as Array<keyof PoolStats>
    Expect.same(what, Object.fromEntries(names.map((name) => [name, stats[name]])), expected)
  })

/** A test both has leases and waits for more, which is no deadlock, however long a busy machine takes. */
const patient = (maxBytes: number): BufferPool.BufferPoolOptions => ({
  maxBytes,
  sizePolicy: SizePolicy.exact,
  onExhausted: "wait",
  deadlockTimeout: Infinity
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("counts blocks and bytes as they come and go", { pool: { strategy: PoolStrategy.blocks } }, function*() {
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
  }),
  test("deferred requests are served in the step that asks, with room that they make", function*() {
    const before = yield* liveBuffers
    const pool = yield* Effect.provide(
      BufferPool.make({ ...patient(8192), strategy: PoolStrategy.blocks }),
      Allocator.layerImmediate
    )
    const scope = yield* Effect.scope
    const run = Effect.runSyncExitWith(yield* Effect.context<never>())
    const lease = (size: number) =>
      run(Scope.provide(Allocator.deferred(pool.allocate(size, { onExhausted: "fail" })), scope))
    const first = yield* lease(1024)
    const second = yield* lease(4096)
    yield* writeOwn(first, 1)
    yield* writeOwn(second, 2)
    yield* expectOwn("the second lease", second, 2)
    yield* Lease.release(second)
    const third = yield* lease(6144)
    yield* writeOwn(third, 3)
    yield* expectOwn("the first lease", first, 1)
    yield* expectOwn("the third lease", third, 3)
    const { driverFrees, managedBytes } = yield* pool.stats
    Expect.same("freed and managed", [driverFrees, managedBytes], [1, 7168])
    yield* Expect.failsWith("a lease for which nothing is left", lease(2048), "OutOfMemory")
    yield* Lease.release(first)
    yield* Lease.release(third)
    yield* pool.freeHeld
    Expect.equal("buffers after freeHeld", yield* liveBuffers, before)
  }),
  test("a release hands its block to the request that waits", { pool: patient(2048) }, function*() {
    const kept = yield* BufferPool.allocate(1024)
    const first = yield* BufferPool.allocate(1024)
    const block = BufferLike.deviceBuffer(first)
    yield* writeOwn(first, 1)
    const second = yield* fork(BufferPool.use(1024, (lease) => {
      Expect.isTrue("the block that was released", BufferLike.deviceBuffer(lease) === block)
      return ownWork(lease, 2)
    }))
    yield* untilWaiting(1)
    yield* CommandQueue.copy(first, kept)
    yield* Lease.release(first)
    yield* expectStats("served in the step of the release", { activeBlocks: 2, heldBlocks: 0, waiters: 0 })
    yield* Fiber.join(second)
    yield* expectOwn("the bytes that the first owner copied", kept, 1)
  }),
  /** The sizes differ: the pool reserves the bytes of the released block for the waiter, so no other request gets them. */
  test("a release reserves its bytes for the request that waits", {
    pool: { ...patient(1024), strategy: PoolStrategy.blocks }
  }, function*() {
    const first = yield* BufferPool.allocate(1024)
    yield* writeOwn(first, 1)
    const second = yield* fork(BufferPool.use(512, (lease) => ownWork(lease, 2)))
    yield* untilWaiting(1)
    yield* Lease.release(first)
    yield* expectStats("pending in the step of the release", { activeBlocks: 0, pendingBytes: 512, heldBytes: 0 })
    yield* BufferPool.use(1024, (lease) => ownWork(lease, 3))
    yield* Fiber.join(second)
  }),
  test("contending fibers never see each other's data, while the limit changes", {
    pool: { maxBytes: 2048, onExhausted: "wait" }
  }, function*() {
    // Each has room for the largest request, also where sizes are multiples of 256.
    const limits = [2048, 800, 4096, 1024, 768, 3000]
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
      for (let yields = 0; yields < 3; yields++) yield* Effect.yieldNow
    }
    yield* Fiber.joinAll(fibers)
    yield* BufferPool.setLimit({ maxBytes: 512 })
    const { managedBytes } = yield* BufferPool.stats
    Expect.isTrue(`${managedBytes} bytes are managed under a limit of 512`, managedBytes <= 512)
    yield* expectStats("all requests were served", { activeBlocks: 0, pendingBytes: 0, waiters: 0 })
  }),
  test(
    "waiting fibers may be interrupted, also in the step that serves them",
    { pool: patient(1024), interrupts: true },
    function*() {
      const served: Array<number> = []
      const holder = yield* BufferPool.allocate(1024)
      const fibers = yield* Effect.forEach([0, 1, 2, 3, 4, 5], (owner) =>
        fork(BufferPool.use(1024, (lease) => {
          served.push(owner)
          return ownWork(lease, owner)
        })))
      yield* untilWaiting(6)
      yield* Fiber.interruptAll([fibers[0]!, fibers[3]!, fibers[5]!])
      yield* untilWaiting(3)
      yield* Lease.release(holder)
      // The release served the request, but its fiber has not run since.
      yield* Fiber.interrupt(fibers[1]!)
      yield* Fiber.joinAll([fibers[2]!, fibers[4]!])
      Expect.same("those who stayed", served.filter((owner) => owner !== 1), [2, 4])
      yield* expectStats("nothing is left of the other requests", { waiters: 0, activeBlocks: 0, pendingBytes: 0 })
      yield* expectUsable
    }
  ),
  /** The cache moves its data to the host when another request needs the memory, and later back to the device. */
  test(
    "a handler moves data to the host and back",
    { pool: { sizePolicy: SizePolicy.exact, maxBytes: 1536 } },
    function*() {
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
          const full = yield* Expect.failsWith("nothing is left to spill", BufferPool.allocate(1024), "OutOfMemory")
          Expect.equal("the last step", full.stepsTried.at(-1), "handlers")
          yield* expectOwn("the data of the lease that needed the memory", lease, 2)
        }))
      Expect.same("who was asked", asked, [
        "has nothing",
        "1024 bytes, 512 missing",
        "has nothing",
        "1024 bytes, 512 missing"
      ])
      const again = yield* BufferPool.allocate(1024)
      for (const words of spilled) yield* CommandQueue.write(again, words)
      yield* expectOwn("what came back from the host", again, 1)
    }
  )
]
