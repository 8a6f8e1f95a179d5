/**
 * Jobs that have memory and request more: all of them end with reservations, and also without, retried as a whole.
 *
 * @internal
 */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { BufferPool, Lease, SizePolicy } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, type Random } from "../Random.ts"
import { expectStats } from "./PoolOnDevice.ts"
import { expectOwn, ownWork, writeOwn } from "./Waiters.ts"

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

const owners = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const allEnd = (count: number, job: (owner: number) => Job) =>
  Effect.gen(function*() {
    yield* Effect.forEach(owners(count), job, { concurrency: "unbounded", discard: true })
    yield* expectStats("nothing is left", { activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
  })

const reserved = allEnd(64, (owner) => BufferPool.reserve(twoAtATime(owner), 512))

const exclusiveJobs = allEnd(64, (owner) => BufferPool.exclusively(twoAtATime(owner)))

const takenTogether = allEnd(64, together)

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

/** Runs jobs concurrently, each retried as a whole, and checks that they fail at most `mostFailures` times in total. */
const retriedAllEnd = (count: number, mostFailures: number, job: (owner: number) => Job) =>
  Effect.gen(function*() {
    let failures = 0
    yield* allEnd(count, (owner) =>
      job(owner).pipe(
        Effect.tapError(() => Effect.sync(() => failures++)),
        Effect.retry({ while: (error) => error instanceof GpuError && error.isRetryable })
      ))
    Expect.isTrue(`at most ${mostFailures} failures, not ${failures}`, failures <= mostFailures)
  })

/** With a pool's default patience. */
const eight: BufferPool.BufferPoolOptions = { maxBytes: 2048, sizePolicy: SizePolicy.exact, onExhausted: "wait" }

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
  test("jobs of two leases end under budgets of their own", { pool: four }, budgeted),
  test(
    "64 jobs of two leases end in a budget for four, retried as a whole",
    { pool: eight },
    BufferPool.withBudget(retriedAllEnd(64, 16, twoAtATime), 1024, { onExhausted: "wait" })
  ),
  test(
    "32 programs of arrays end in room for eight arrays, retried as a whole",
    { pool: eight },
    retriedAllEnd(32, 32, () => Effect.scoped(arrays))
  ),
  test("array scopes end with reservations", { pool: { ...four, maxBytes: 2048 } }, arraysReserved),
  test("array scopes end with `exclusively`", { pool: four }, exclusiveArrays),
  test("random jobs end if their reservations fit the limit", { pool: { ...four, maxBytes: 1024 } }, randomJobs)
]
