/** The search for deadlocks and their victims, against their definitions over all sets of requests. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import {
  Deadlocks,
  type Holding,
  type Queue,
  type StuckJob,
  type Waiting
} from "../../src/domain/pool/machine/Deadlock.ts"
import { runs } from "../support/explore.ts"

interface Scene {
  readonly queues: ReadonlyArray<Queue>
  readonly holdings: ReadonlyArray<Holding>
  readonly waiting: ReadonlyArray<Waiting>
}

const keysAmong = (most: number) => fc.uniqueArray(fc.nat(most), { minLength: 1, maxLength: 2 })

const bytesOf = fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 2 })

const scene: fc.Arbitrary<Scene> = fc.record({
  rooms: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
  /** Bytes of jobs that do not wait. */
  others: fc.array(fc.constantFrom(0, 0, 0, 1), { minLength: 3, maxLength: 3 }),
  holdings: fc.array(fc.record({ keys: keysAmong(5), bytes: bytesOf }), { maxLength: 7 }),
  waiting: fc.array(
    fc.record({
      queue: fc.nat(2),
      keys: keysAmong(5),
      bytes: fc.integer({ min: 1, max: 20 }),
      mayFail: fc.constantFrom(true, true, true, false)
    }),
    { maxLength: 6 }
  )
}).map(({ holdings, others, rooms, waiting }) => {
  const counted = rooms.map((_, queue) =>
    holdings.flatMap(({ bytes }) => bytes)
      .filter(([of]) => of % rooms.length === queue)
      .reduce((sum, [, some]) => sum + some, Number(others[queue]))
  )
  const queues = rooms.map((roomBytes, index): Queue => ({ roomBytes, countedBytes: counted[index]! }))
  return {
    queues,
    holdings: holdings.map(({ bytes, keys }, sequence) => ({
      keys,
      sequence,
      bytes: bytes.map(([of, some]) => [at(queues, of), some] as const)
    })),
    waiting: waiting.map(({ queue, ...one }, arrival) => ({
      ...one,
      arrival,
      queue: at(queues, queue)
    }))
  }
})

const at = <A>(all: ReadonlyArray<A>, index: number): A => all[index % all.length]!

const subsets = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.reduce<ReadonlyArray<ReadonlyArray<A>>>((sets, one) => [...sets, ...sets.map((set) => [...set, one])], [[]])

const isHeldBy = (requests: ReadonlyArray<Waiting>, { keys }: Holding): boolean =>
  requests.some((request) => request.keys.some((key) => keys.includes(key)))

const bytesIn = (holdings: ReadonlyArray<Holding>, queue: Queue): number =>
  holdings.flatMap(({ bytes }) => bytes).reduce((sum, [of, some]) => of === queue ? sum + some : sum, 0)

/** A set of requests is stuck when all bytes that could be freed for their queues belong to their own jobs. */
const isStuck = ({ holdings }: Scene, requests: ReadonlyArray<Waiting>): boolean =>
  requests.every(({ queue }) =>
    queue.countedBytes <= bytesIn(holdings.filter((holding) => isHeldBy(requests, holding)), queue)
  )

const stuckIn = (scene: Scene): ReadonlySet<Waiting> =>
  new Set(subsets(scene.waiting).filter((set) => isStuck(scene, set)).flat())

type Job = StuckJob<Holding, Waiting>

/** The jobs that can go on when some jobs end: round by round, all whose requests fit. */
const goesOn = ({ queues }: Scene, jobs: ReadonlyArray<Job>, victims: ReadonlyArray<Job>): boolean => {
  const back = new Set(victims.flatMap(({ holdings }) => holdings))
  const fits = ({ bytes, queue }: Waiting) => bytes <= queue.roomBytes + bytesIn(Array.from(back), queue)
  let left = jobs.filter((job) => !victims.includes(job))
  for (let rounds = 0; rounds <= jobs.length; rounds++) {
    const served = left.filter(({ requests }) => requests.every(fits))
    left = left.filter((job) => !served.includes(job))
    for (const holding of served.flatMap(({ holdings }) => holdings)) back.add(holding)
  }
  return left.length === 0 && queues.length > 0
}

const resolved = (scene: Scene) => {
  const deadlocks = new Deadlocks(scene)
  const stuck = deadlocks.find()
  return { stuck, ...deadlocks.resolve(stuck) }
}

const failing = (jobs: ReadonlyArray<Job>, victims: ReadonlyArray<Waiting>): ReadonlyArray<Job> =>
  jobs.filter(({ requests }) => requests.some((request) => victims.includes(request)))

const check = (property: (scene: Scene) => void) => fc.assert(fc.property(scene, property), { numRuns: runs(3000) })

/** Jobs that each have some bytes of one queue and lack some. */
const jobsOf = (
  roomBytes: number,
  jobs: ReadonlyArray<readonly [has: number, lacks: number, mayFail?: boolean]>
): Scene => {
  const countedBytes = jobs.reduce((sum, [has]) => sum + has, 0)
  const queue = { roomBytes, countedBytes }
  return {
    queues: [queue],
    holdings: jobs.map(([has], index) => ({ keys: [index], bytes: [[queue, has]], sequence: index })),
    waiting: jobs.map(([, bytes, mayFail = true], index) => ({
      queue,
      keys: [index],
      bytes,
      arrival: index,
      mayFail
    }))
  }
}

const victimsOf = (scene: Scene): ReadonlyArray<number> =>
  resolved(scene).victims.map(({ arrival }) => arrival).sort((a, b) => a - b)

describe("requests in a deadlock", () => {
  it("are the union of all sets whose queues only they can give anything back to", () =>
    check((scene) => {
      // A queue to which nothing can be freed does not decide whether its requests are stuck.
      const expected = Array.from(stuckIn(scene)).map(({ arrival }) => arrival).sort()
      deepStrictEqual(new Deadlocks(scene).find().map(({ arrival }) => arrival).sort(), expected)
    }))

  it("are found among those that may be, without what the others have", () => {
    const scene = jobsOf(0, [[1, 1], [1, 1], [1, 1]])
    const deadlocks = new Deadlocks(scene)
    strictEqual(deadlocks.find().length, 3)
    strictEqual(deadlocks.find(({ arrival }) => arrival > 0).length, 0)
  })

  it("fail as few as let the others go on, never the oldest of several", () =>
    check((scene) => {
      const { jobs, stuck, victims } = resolved(scene)
      const failed = failing(jobs, victims)
      assert.isTrue(victims.every(({ mayFail }) => mayFail) && victims.every((victim) => stuck.includes(victim)))
      strictEqual(failed.length, jobs.length === 0 ? 0 : victims.length)
      if (jobs.length < 2) return
      assert.isFalse(failed.includes(jobs.at(-1)!))
      const mayFail = jobs.slice(0, -1).filter(({ requests }) => requests.some(({ mayFail }) => mayFail))
      const enough = subsets(mayFail).filter((set) => goesOn(scene, jobs, set))
      // Where no set of victims is known to be enough, one job fails.
      if (enough.length === 0) return strictEqual(failed.length, Math.min(1, mayFail.length))
      if (mayFail.length === 0) return
      assert.isTrue(goesOn(scene, jobs, failed))
      for (const one of failed) {
        const others = failed.filter((other) => other !== one)
        assert.isTrue(others.length === 0 || !goesOn(scene, jobs, others), "one fails too many")
      }
    }))

  it("fail the youngest where one is enough, and several where it is not", () => {
    deepStrictEqual(victimsOf(jobsOf(0, [[1, 1], [1, 1], [1, 1], [1, 1]])), [3])
    deepStrictEqual(victimsOf(jobsOf(0, [[5, 3], [1, 8], [1, 8], [1, 8], [1, 8]])), [2, 3, 4])
    // The youngest has too little, and the next one enough for all.
    deepStrictEqual(victimsOf(jobsOf(0, [[10, 20], [20, 10], [1, 1]])), [1])
    // A job that ends by itself is no victim.
    deepStrictEqual(victimsOf(jobsOf(0, [[1, 1], [1, 1], [1, 1, false]])), [1])
    deepStrictEqual(victimsOf(jobsOf(0, [[1, 1], [1, 1, false]])), [])
    deepStrictEqual(victimsOf(jobsOf(0, [[5, 3]])), [0])
  })

  it("fail so many that no more jobs have memory than may", () => {
    const scene = jobsOf(0, Array.from({ length: 8 }, () => [1, 1] as const))
    const deadlocks = new Deadlocks(scene)
    const left = (most: number) => 8 - deadlocks.resolve(deadlocks.find(), () => most).victims.length
    deepStrictEqual([Infinity, 8, 7, 4, 1].map(left), [7, 7, 7, 4, 1])
  })

  it("are found and resolved in time that grows with them alone", () => {
    const scene = jobsOf(0, Array.from({ length: 100_000 }, (_, index) => [1, 1 + index % 100] as const))
    strictEqual(resolved(scene).stuck.length, 100_000)
  })
})
