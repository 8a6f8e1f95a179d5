/**
 * Programs that have memory, wait for more, and are retried as a whole: with a pool's default options all of them end,
 * with few failures.
 *
 * @internal
 */
import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { BufferPool, SizePolicy } from "effect-gpu-pool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { expectStats } from "./PoolOnDevice.ts"
import { expectOwn, ownWork, writeOwn } from "./Waiters.ts"

const test = inGroup("deadlocks")

/** Room for eight buffers of 256 bytes. */
const eight: BufferPool.BufferPoolOptions = { maxBytes: 2048, sizePolicy: SizePolicy.exact, onExhausted: "wait" }

const four: BufferPool.BufferPoolOptions = { ...eight, maxBytes: 1024 }

/** Has one lease with its own data, lets others do the same, and requests another. */
const twoLeases = (owner: number) =>
  Effect.scoped(Effect.gen(function*() {
    const first = yield* BufferPool.allocate(256, { label: `first of ${owner}` })
    yield* writeOwn(first, owner)
    for (let turns = 0; turns < 3; turns++) yield* Effect.yieldNow
    const second = yield* BufferPool.allocate(256, { label: `second of ${owner}` })
    yield* ownWork(second, owner + 1000)
    yield* expectOwn(`the data of owner ${owner}`, first, owner)
  }))

/** Two inputs, two intermediates and a result, while eight arrays have room. */
const arrays = () =>
  Effect.scoped(Effect.gen(function*() {
    const x = yield* DeviceArray.full([64], 3)
    const y = yield* DeviceArray.full([64], 4)
    const squares = yield* DeviceArray.add(yield* DeviceArray.square(x), yield* DeviceArray.square(y))
    Expect.equal("√(3² + 4²)", yield* DeviceArray.toNumber(yield* DeviceArray.max(yield* DeviceArray.sqrt(squares))), 5)
  }))

/** Runs `count` jobs concurrently, each retried, and checks that they fail at most `mostFailures` times in total. */
const allEnd = <E, R>(count: number, mostFailures: number, job: (owner: number) => Effect.Effect<void, E, R>) =>
  Effect.gen(function*() {
    let failures = 0
    const owners = Array.from({ length: count }, (_, index) => index + 1)
    yield* Effect.forEach(owners, (owner) =>
      job(owner).pipe(
        Effect.tapError(() => Effect.sync(() => failures++)),
        Effect.retry({ while: (error) => (error as GpuError).isRetryable })
      ), { concurrency: "unbounded", discard: true })
    Expect.isTrue(`at most ${mostFailures} failures, not ${failures}`, failures <= mostFailures)
    yield* expectStats("nothing is left", { activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })
  })

export const tests: ReadonlyArray<ConformanceTest> = [
  test("64 jobs of two leases end in room for four, retried as a whole", { pool: four }, allEnd(64, 16, twoLeases)),
  test(
    "64 jobs of two leases end in a budget for four, retried as a whole",
    { pool: eight },
    BufferPool.withBudget(allEnd(64, 16, twoLeases), 1024, { onExhausted: "wait" })
  ),
  test(
    "32 programs of arrays end in room for eight arrays, retried as a whole",
    { pool: eight },
    allEnd(32, 32, arrays)
  )
]
