/**
 * Random programs of jobs that each fit the limit, allocate step by step, and are retried as a whole when they fail:
 * all end soon and with few failures, in any order.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { runs } from "../support/explore.ts"
import { open, type SizedPool } from "../support/sizedPools.ts"

/** What a job does next. */
type Step =
  | { readonly kind: "allocate" | "lend" | "inner" | "children"; readonly size: number }
  | { readonly kind: "release" }
  | { readonly kind: "yield" }
  | { readonly kind: "sleep"; readonly millis: number }

const limit = 100

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "allocate" as const,
        "allocate" as const,
        "lend" as const,
        "inner" as const,
        "children" as const
      ),
      size: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 5, max: 30 }), fc.integer({ min: 60, max: 95 }))
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("release" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("yield" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("sleep" as const), millis: fc.integer({ min: 1, max: 300 }) }) }
)

type Job = ReadonlyArray<Step>

const program = fc.record({
  jobs: fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 2, maxLength: 48, size: "max" }),
  /** Whether all run in one budget of the pool. */
  inBudget: fc.boolean(),
  latency: fc.constantFrom(0, 1, 7)
})

type Program = typeof program extends fc.Arbitrary<infer P> ? P : never

/** Runs the steps in sequence, inside the `use`s among them. A job never has more than the limit. */
const run = (pool: SizedPool, job: Job) => {
  const from = (index: number, left: number): Effect.Effect<void, GpuError, never> =>
    Effect.scoped(Effect.gen(function*() {
      const own: Array<Lease.Lease> = []
      let free = left
      for (let at = index; at < job.length; at++) {
        const step = job[at]!
        if (step.kind === "yield") yield* Effect.yieldNow
        else if (step.kind === "sleep") yield* Effect.sleep(step.millis)
        else if (step.kind === "release") {
          const lease = own.pop()
          if (lease === undefined) continue
          free += lease.size
          yield* Lease.release(lease)
        } else if (step.size > free) continue
        else if (step.kind === "allocate") {
          free -= step.size
          own.push(yield* pool.allocate(step.size))
        } else if (step.kind === "inner") {
          yield* Effect.scoped(Effect.andThen(pool.allocate(step.size), Effect.yieldNow))
        } else if (step.kind === "children") {
          // A parent in a `use`, or with leases of an outer scope, looks busy while its children wait.
          if (index > 0) continue
          const half = Math.max(1, Math.floor(step.size / 2))
          yield* Effect.forEach([half, step.size - half], (size) => pool.use(size, () => Effect.yieldNow), {
            concurrency: "unbounded",
            discard: true
          })
        } else {
          return yield* pool.use(step.size, () => from(at + 1, free - step.size))
        }
      }
    }))
  return from(0, limit)
}

/** Runs a program until all jobs have ended, and returns the number of failures. */
const failuresOf = ({ inBudget, jobs, latency }: Program): Effect.Effect<number, GpuError> =>
  Effect.gen(function*() {
    const opened = yield* open("buffers", {
      pool: { maxBytes: inBudget ? 2 * limit : limit, onExhausted: "wait" },
      host: { latency }
    })
    const pool = inBudget ? yield* opened.pool.budget(limit) : opened.pool
    let failures = 0
    const fibers = yield* Effect.forEach(jobs, (job) =>
      run(pool, job).pipe(
        Effect.tapError(() => Effect.sync(() => failures++)),
        Effect.retry({ while: (error) => error.isRetryable }),
        Effect.forkDetach
      ))
    const areOver = () => fibers.every((fiber) => fiber.pollUnsafe() !== undefined)
    for (let steps = 0; steps < 10_000 && !areOver(); steps++) yield* TestClock.adjust("25 millis")
    assert.isTrue(areOver(), "a job waits for ever")
    const exits = yield* Effect.forEach(fibers, Fiber.await)
    deepStrictEqual(exits.filter(Exit.isFailure), [])
    const { activeBlocks, pendingBytes, waiters } = yield* opened.pool.stats
    deepStrictEqual([activeBlocks, pendingBytes, waiters], [0, 0, 0])
    yield* opened.closePool
    yield* opened.closeHost
    return failures
  }).pipe(Effect.provide(TestClock.layer()))

/** The bound for this many jobs. Random programs reach at most a third of it: usually one job in ten fails. */
const mostFailures = (jobs: number): number => jobs * (1 + Math.log2(jobs))

describe("jobs that each fit the limit, and are retried", () => {
  it("all end, with few failures", async () => {
    const property = fc.asyncProperty(program, async (program) => {
      const failures = await Effect.runPromise(failuresOf(program))
      assert.isAtMost(failures, mostFailures(program.jobs.length))
    })
    await fc.assert(property, { numRuns: runs(150) })
  })
})
