/**
 * Jobs that have memory and request more. With reservations all of them end; without, a job ends or its error says why.
 *
 * @internal
 */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { BufferPool, Lease, SizePolicy } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, type Random } from "../Random.ts"
import { expectStats } from "./PoolOnDevice.ts"
import { expectOwn, fork, ownWork, untilWaiting, writeOwn } from "./Waiters.ts"

const test = inGroup("reservations")

/** Room for four leases of 256 bytes. */
const four: BufferPool.BufferPoolOptions = {
  maxBytes: 1024,
  sizePolicy: SizePolicy.exact,
  onExhausted: "wait",
  deadlockTimeout: "5 millis"
}

type Job<E = unknown> = Effect.Effect<void, E, BufferPool.BufferPool | CommandQueue>

/** Has a lease with its own data, requests a second one, works on both, and finds its data unchanged. */
const twoAtATime = (owner: number): Job =>
  Effect.scoped(Effect.gen(function*() {
    const first = yield* BufferPool.allocate(256, { label: `first of ${owner}` })
    yield* writeOwn(first, owner)
    yield* Effect.yieldNow
    const second = yield* BufferPool.allocate(256, { label: `second of ${owner}` })
    yield* ownWork(second, owner + 1000)
    yield* expectOwn(`the data of owner ${owner}`, first, owner)
  }))

const together = (owner: number): Job =>
  BufferPool.useAll([256, 256], ([first, second]) =>
    Effect.gen(function*() {
      yield* writeOwn(first, owner)
      yield* ownWork(second, owner + 1000)
      yield* expectOwn(`the data of owner ${owner}`, first, owner)
    }))

const isMemory = (error: unknown): boolean => (error as GpuError).isRetryable

const owners = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const allEnd = (count: number, job: (owner: number) => Job) =>
  Effect.gen(function*() {
    yield* Effect.forEach(owners(count), job, { concurrency: "unbounded", discard: true })
    yield* expectStats("nothing is left", { activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
  })

const reserved = allEnd(64, (owner) => BufferPool.reserve(twoAtATime(owner), 512))

const exclusiveJobs = allEnd(64, (owner) => BufferPool.exclusively(twoAtATime(owner)))

const takenTogether = allEnd(64, together)

const retried = allEnd(8, (owner) => Effect.retry(twoAtATime(owner), { while: isMemory }))

const budgeted = allEnd(
  16,
  (owner) => BufferPool.withBudget(BufferPool.reserve(twoAtATime(owner), 512), 600, { onExhausted: "wait" })
)

/** Needs two inputs, two intermediates and a result, while four arrays have room. */
const arrays = Effect.gen(function*() {
  const x = yield* DeviceArray.full([32], 3)
  const y = yield* DeviceArray.multiply(x, x)
  Expect.equal(
    "3 * 3 + 3, 32 times",
    yield* DeviceArray.toNumber(yield* DeviceArray.sum(yield* DeviceArray.add(y, x))),
    384
  )
})

const arraysReserved = allEnd(16, () => Effect.scoped(DeviceArray.scoped(arrays, { reserve: 1024 })))

const exclusiveArrays = allEnd(16, () => Effect.scoped(DeviceArray.lazy(arrays)))

/** A job that takes and releases leases, never more bytes than it reserved. */
const randomJob = (random: Random): Job => {
  const sizes = Array.from({ length: random.integer(1, 4) }, () => 4 * random.integer(0, 64))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  const givesBack = random.integer(0, 3)
  return Effect.gen(function*() {
    const mine: Array<PooledBuffer> = []
    for (const size of sizes) {
      mine.push(yield* BufferPool.allocate(size))
      yield* Effect.yieldNow
      if (mine.length === givesBack) yield* Lease.release(mine.pop()!)
    }
  }).pipe(Effect.scoped, BufferPool.reserve(bytes))
}

const randomJobs = forSeeds(owners(20), (random) =>
  Effect.gen(function*() {
    const jobs = Array.from({ length: random.integer(2, 12) }, () => randomJob(random))
    yield* Effect.all(jobs, { concurrency: "unbounded", discard: true })
    yield* expectStats("nothing is left", { activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
  }))

export const tests: ReadonlyArray<ConformanceTest> = [
  test("64 jobs of two leases end in room for four, each with a reservation", { pool: four }, reserved),
  test("64 jobs of two leases end in room for four, with `exclusively`", { pool: four }, exclusiveJobs),
  test("64 jobs of two leases end in room for four, with both taken together", { pool: four }, takenTogether),
  test("jobs of two leases end in room for four, retried as a whole", { pool: four }, retried),
  test("jobs of two leases end under budgets of their own", { pool: four }, budgeted),
  test("array scopes end with reservations", { pool: { ...four, maxBytes: 2048 } }, arraysReserved),
  test("array scopes end with `exclusively`", { pool: four }, exclusiveArrays),
  test("an error names jobs that wait for each other", { pool: four }, function*() {
    const exits = yield* Effect.forEach(owners(8), (owner) => Effect.exit(twoAtATime(owner)), {
      concurrency: "unbounded"
    })
    const failures = exits.filter(Exit.isFailure)
    Expect.isTrue("at least one of them failed", failures.length > 0)
    Expect.isTrue("at least one of them was served", failures.length < exits.length)
    for (const failure of failures) {
      const { deadlock } = yield* Expect.failsWith("a job that waits for others", failure, "OutOfMemory")
      Expect.isTrue("the jobs are named", deadlock.length > 0 && deadlock.every(({ holdsBytes }) => holdsBytes > 0))
    }
    yield* expectStats("nothing is left", { activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
  }),
  test("other requests cannot use reserved bytes, nor held blocks in them", { pool: four }, function*() {
    const outer = yield* BufferPool.BufferPool
    yield* Effect.scoped(BufferPool.allocateAll([256, 256, 256, 256]))
    const served = yield* BufferPool.reserve(
      Effect.gen(function*() {
        const held = Effect.scoped(outer.allocate(512, { onExhausted: "fail" }))
        const { reservedBytes } = yield* Expect.failsWith("what is reserved", held, "OutOfMemory")
        Expect.equal("bytes reserved", reservedBytes, 768)
        const waiting = yield* fork(outer.use(512, (lease) => ownWork(lease, 1)))
        yield* untilWaiting(1)
        yield* BufferPool.use(768, (lease) => ownWork(lease, 2))
        yield* expectStats("bytes of this reservation alone", { reservedBytes: 768, waiters: 1 })
        return waiting
      }),
      768
    )
    yield* Fiber.join(served)
  }),
  test("random jobs end if their reservations fit the limit", { pool: { ...four, maxBytes: 1024 } }, randomJobs)
]
