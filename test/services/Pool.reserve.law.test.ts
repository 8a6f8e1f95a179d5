/**
 * The law of reservations: programs that reserve what they need all end, if each reservation fits the limit, even if
 * they request more while they have memory, and whatever is interrupted.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { arena, type PoolStrategy } from "../../src/domain/pool/PoolStrategy.ts"
import { runs } from "../support/explore.ts"
import { isConsistent, outOfMemoryOf } from "../support/hostPool.ts"
import { peak, reserving, type Step, steps } from "../support/reservedJobs.ts"
import { type Kind, modelled, open } from "../support/sizedPools.ts"

/** Pools of the kinds with a model, of blocks or of slabs of few units. No job asks for whole units. */
const pools: ReadonlyArray<{ readonly name: string; readonly kind: Kind; readonly strategy?: PoolStrategy }> = [
  ...modelled.map((kind) => ({ name: kind, kind })),
  { name: "buffers in slabs", kind: "buffers", strategy: arena({ unitBytes: 16, slabBytes: 64 }) }
]

interface Program {
  readonly jobs: ReadonlyArray<ReadonlyArray<Step>>
  /** Which jobs are interrupted, and after how many turns. */
  readonly interruptions: ReadonlyArray<readonly [job: number, turn: number]>
  /** Bytes of the limit that no job needs. */
  readonly spare: number
  /** Whether the device answers late. */
  readonly late: boolean
}

const programs = (kind: Kind): fc.Arbitrary<Program> =>
  fc.record({
    jobs: fc.array(steps(kind), { minLength: 1, maxLength: 8 }),
    interruptions: fc.array(fc.tuple(fc.nat(7), fc.nat(12)), { maxLength: 3 }),
    spare: fc.nat(20),
    late: fc.boolean()
  })

/** More turns than any of these programs can need. */
const mostTurns = 2000

const run = ({ kind, strategy }: (typeof pools)[number], program: Program) =>
  Effect.gen(function*() {
    const maxBytes = Math.max(1, ...program.jobs.map(peak)) + program.spare
    const { closeHost, closePool, driverObjects, pool } = yield* open(kind, {
      host: program.late ? { latency: "1 millis" } : {},
      pool: { maxBytes, onExhausted: "wait", deadlockTimeout: "1 hour", strategy }
    })
    const fibers = yield* Effect.forEach(program.jobs, (job) => Effect.forkDetach(reserving(job, pool)))
    for (
      let turn = 0;
      turn < mostTurns && fibers.some((fiber) => fiber.pollUnsafe() === undefined);
      turn++
    ) {
      for (const [job, when] of program.interruptions) if (when === turn) fibers[job]?.interruptUnsafe()
      yield* TestClock.adjust("1 millis")
    }
    assert(fibers.every((fiber) => fiber.pollUnsafe() !== undefined), "a job waits for ever")
    const interrupted = new Set(program.interruptions.map(([job]) => job))
    for (const [index, fiber] of fibers.entries()) {
      const exit = yield* Fiber.await(fiber)
      if (!interrupted.has(index)) deepStrictEqual(exit, Exit.void)
    }
    const stats = yield* pool.stats
    isConsistent(stats, driverObjects)
    const { activeBlocks, pendingBytes, reservedBytes, waiters } = stats
    deepStrictEqual({ activeBlocks, pendingBytes, reservedBytes, waiters }, {
      activeBlocks: 0,
      pendingBytes: 0,
      reservedBytes: 0,
      waiters: 0
    })
    assert.isAtMost(stats.peakManagedBytes, maxBytes)
    yield* closePool
    yield* closeHost
    deepStrictEqual(driverObjects.live, 0)
  }).pipe(Effect.provide(TestClock.layer()))

describe("jobs with reservations", () => {
  it.each(pools)(
    "all end, and leave nothing behind, in a pool of $name",
    (pool) =>
      fc.assert(fc.asyncProperty(programs(pool.kind), (program) => Effect.runPromise(run(pool, program))), {
        numRuns: runs(600)
      })
  )

  // The rest of its own reservation is not freed before the reservation ends.
  it.effect.each(pools)(
    "are told when the driver has no memory and nobody else has any, in a pool of $name",
    ({ kind, strategy }) =>
      Effect.gen(function*() {
        const { closeHost, closePool, faults, pool } = yield* open(kind, { pool: { onExhausted: "wait", strategy } })
        faults.failAllocations({ times: Infinity })
        const job = pool.reserve(100, (outer) => outer.reserve(50, (inner) => inner.use(10, () => Effect.void)))
        const { stepsTried } = yield* outOfMemoryOf(job)
        deepStrictEqual(stepsTried.includes("wait"), false)
        yield* closePool
        yield* closeHost
      })
  )
})
