/**
 * Tenants of one pool that clears its blocks: no tenant ever reads bytes of another, whichever way it gets its memory.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Lease, SizePolicy } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import * as BufferLike from "effect-gpu-pool/BufferLike"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { fork, untilWaiting } from "./Waiters.ts"

const test = inGroup("tenants")
const clearing = { clear: "acquire", sizePolicy: SizePolicy.sizeClasses(2, { borrow: 1 }) } as const

const blockOf = (lease: PooledBuffer) => BufferLike.deviceBuffer(lease)!

/** Checks that the whole block is zero, also past the lease's size, and fills it with this tenant's bytes. */
const stay = Effect.fnUntraced(function*(
  tenant: string,
  lease: PooledBuffer
): Effect.fn.Return<void, GpuError, CommandQueue.CommandQueue> {
  const block = blockOf(lease)
  // An allocator may give more than the block.
  const found = (yield* CommandQueue.read(block, Uint8Array)).subarray(0, lease.capacity)
  Expect.numbers(`what ${tenant} finds in its ${lease.size} bytes`, found, new Uint8Array(lease.capacity))
  yield* CommandQueue.fill(block, Uint8Array.of(0xde))
})

const expectReuse = (what: string, block: BufferLike.BufferLike, lease: PooledBuffer) =>
  Expect.isTrue(`${what} gets the last tenant's block`, blockOf(lease) === block)

/** Less than a word, no whole number of words, whole words, and more than a page. */
const sizes = [1, 3, 64, 255, 1001, 4096, 65_541]

const tenantWithBudget = (name: string, maxBytes: number) =>
  Effect.forEach([500, 1000, 500, 300, 1000], (size) => BufferPool.use(size, (lease) => stay(name, lease)), {
    discard: true
  }).pipe(BufferPool.withBudget(maxBytes))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a tenant finds zeros in recycled blocks of every size", { pool: clearing }, function*() {
    for (const size of sizes) {
      const first = yield* BufferPool.allocate(size)
      const block = blockOf(first)
      yield* stay("the first tenant", first)
      yield* Lease.release(first)
      yield* BufferPool.use(size, (second) => {
        expectReuse("a lease of `use`", block, second)
        return stay("a lease of `use`", second)
      })
      const third = yield* BufferPool.allocate(size)
      expectReuse("the third tenant", block, third)
      yield* stay("the third tenant", third)
    }
  }),
  test("a tenant finds zeros in a borrowed block, and so does the next one", {
    pool: { ...clearing, strategy: PoolStrategy.blocks }
  }, function*() {
    for (const size of [1000, 8192, 40_000]) {
      const large = yield* BufferPool.allocate(size)
      const block = blockOf(large)
      yield* stay("the large tenant", large)
      yield* Lease.release(large)
      const smaller = Math.floor(size * 0.6)
      yield* BufferPool.use(smaller, (lease) => {
        expectReuse("the borrower", block, lease)
        return stay("the borrower", lease)
      })
      yield* BufferPool.use(size, (lease) => {
        expectReuse("the next large tenant", block, lease)
        return stay("the next large tenant", lease)
      })
    }
    const { borrows } = yield* BufferPool.stats
    Expect.equal("borrows", borrows, 3)
  }),
  test("a tenant that waited finds zeros in the block that it gets", {
    // The test has a lease while its fibers wait, which is no deadlock.
    pool: { ...clearing, strategy: PoolStrategy.blocks, maxBytes: 4096, onExhausted: "wait", deadlockTimeout: Infinity }
  }, function*() {
    const first = yield* BufferPool.allocate(4096)
    const block = blockOf(first)
    const waiting = yield* Effect.forEach(
      [4096, 4001, 3950, 4096],
      (size, index) =>
        fork(BufferPool.use(size, (lease) => {
          expectReuse("whoever waits", block, lease)
          return stay(`waiter ${index}`, lease)
        }))
    )
    yield* untilWaiting(4)
    yield* stay("the first tenant", first)
    yield* Lease.release(first)
    yield* Fiber.joinAll(waiting)
  }),
  test(
    "tenants with budgets of their own find zeros",
    { pool: { ...clearing, maxBytes: 2048, onExhausted: "wait" } },
    function*() {
      const tenants = ["tenant 1", "tenant 2", "tenant 3"].map((name) => tenantWithBudget(name, 1024))
      yield* Effect.all(tenants, { concurrency: "unbounded", discard: true })
      const { hits } = yield* BufferPool.stats
      Expect.isTrue(`${hits} leases reuse memory`, hits > 0)
    }
  )
]
