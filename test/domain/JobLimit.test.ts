/** How many jobs may have memory after deadlocks, and which jobs have some. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { HoldingJobs } from "../../src/domain/pool/machine/HoldingJobs.ts"
import { JobLimit } from "../../src/domain/pool/machine/JobLimit.ts"

const after = (jobs: number): JobLimit => {
  const limit = new JobLimit()
  limit.deadlocked(jobs)
  return limit
}

/** How many jobs end until the limit is again as high as the number of jobs in the deadlock. */
const endsUntilTrial = (limit: JobLimit): number => {
  const before = limit.tooMany
  for (let ends = 1;; ends++) {
    limit.jobEnded(limit.most - 1)
    if (limit.most >= before) return ends
  }
}

class Memory {
  hasEnded = false
  readonly jobKeys: ReadonlyArray<number>
  readonly memoryKeys: ReadonlyArray<number>

  constructor(key = 0, others: ReadonlyArray<number> = []) {
    this.jobKeys = [key, ...others]
    this.memoryKeys = [key]
  }
}

describe("how many jobs may have memory", () => {
  it("is half of those that waited for each other, and one more for each that ends, up to one less than were too many", () => {
    const limit = after(8)
    const seen = Array.from({ length: 6 }, () => {
      limit.jobEnded(limit.most - 1)
      return limit.most
    })
    deepStrictEqual(seen, [5, 6, 7, 7, 7, 7])
  })

  it("does not grow while fewer have memory than may", () => {
    const limit = after(8)
    for (let ends = 0; ends < 1000; ends++) limit.jobEnded(1)
    strictEqual(limit.most, 4)
  })

  it("is tried beyond that only after many ends, after each deadlock twice as many", () => {
    const limit = after(4)
    const first = endsUntilTrial(limit)
    limit.deadlocked(4)
    const second = endsUntilTrial(limit)
    assert.isAtLeast(first, 8)
    assert.isAtLeast(second, 2 * first - 4)
  })

  it("is never less than one, and halves what is left when ending one did not help", () => {
    const limit = new JobLimit()
    strictEqual(limit.mostLeft(8), Infinity)
    limit.deadlocked(8)
    deepStrictEqual([limit.most, limit.mostLeft(7)], [4, 2])
    limit.deadlocked(7)
    deepStrictEqual([limit.most, limit.mostLeft(2)], [2, 1])
    limit.deadlocked(2)
    deepStrictEqual([limit.most, limit.mostLeft(1)], [1, 1])
    limit.jobEnded(0)
    strictEqual(limit.mostLeft(2), Infinity)
  })

  it("doubles when no memory is released, each time after twice as long, until it is of no use", () => {
    const limit = after(8)
    const seen: Array<number> = []
    for (let looks = 1; !limit.isWide; looks++) if (limit.silent()) seen.push(looks)
    deepStrictEqual(seen, [1, 3])
  })

  it("lets deadlocks grow with the logarithm of the jobs, where too many always are in one", () => {
    fc.assert(fc.property(fc.integer({ min: 2, max: 64 }), fc.integer({ min: 100, max: 10_000 }), (safe, jobs) => {
      const limit = new JobLimit()
      let deadlocks = 0
      // As many jobs as may have memory; if that is more than are safe, they deadlock.
      for (let ended = 0; ended < jobs;) {
        const having = Math.min(limit.most, 100)
        if (having > safe) {
          deadlocks++
          limit.deadlocked(having)
        } else {
          limit.jobEnded(having - 1)
          ended++
        }
      }
      assert.isAtMost(deadlocks, 10 + 2 * Math.log2(jobs))
    }))
  })
})

describe("the jobs that have memory", () => {
  it("are as many as may, and one more when one has ended", () => {
    const jobs = new HoldingJobs()
    const [one, other] = [new Memory(), new Memory()]
    jobs.deadlocked([1], [one], false)
    jobs.deadlocked([2], [other], true)
    jobs.limit.deadlocked(2)
    strictEqual(jobs.count, 2)
    const [next, free] = [new Memory(1), new Memory(4)]
    assert.isFalse(jobs.admit(new Memory(3), true))
    assert.isTrue(jobs.admit(next, true), "a job that has memory is never held back")
    assert.isTrue(jobs.admit(free, false), "a request that is not held back")
    assert.isTrue(jobs.admit(new Memory(5, [4]), true), "one of a job that has memory")
    other.hasEnded = true
    jobs.lookAgain()
    assert.isFalse(jobs.admit(new Memory(3), true))
    one.hasEnded = true
    next.hasEnded = true
    jobs.lookAgain()
    assert.isTrue(jobs.admit(new Memory(3), true))
    deepStrictEqual([jobs.has([3]), jobs.has([1]), jobs.count], [true, false, 1])
  })

  it("that failed for a deadlock make no room for more, and the others do", () => {
    for (const hasFailed of [true, false]) {
      const jobs = new HoldingJobs()
      const memory = Array.from({ length: 8 }, () => new Memory())
      memory.forEach((one, key) => jobs.deadlocked([key], [one], hasFailed))
      jobs.limit.deadlocked(8)
      for (const one of memory) one.hasEnded = true
      strictEqual(jobs.count, 0)
      strictEqual(jobs.limit.most > 4, !hasFailed)
    }
  })

  it("are not those that wait under the same key without memory of it", () => {
    const jobs = new HoldingJobs()
    jobs.limit.deadlocked(4)
    // All run in the scope 9, and have memory of their own.
    const admitted = [1, 2, 3].filter((key) => jobs.admit(new Memory(key, [9]), true))
    deepStrictEqual(admitted, [1, 2])
  })

  it("keep nothing of what has ended, however many leases one takes", () => {
    const jobs = new HoldingJobs()
    const first = new Memory()
    jobs.deadlocked([1], [first], false)
    for (let leases = 0; leases < 10_000; leases++) {
      const lease = new Memory(1)
      assert.isTrue(jobs.admit(lease, true))
      lease.hasEnded = true
    }
    strictEqual(jobs.count, 1)
    first.hasEnded = true
    strictEqual(jobs.count, 0)
    assert.isFalse(jobs.has([1]))
  })
})
