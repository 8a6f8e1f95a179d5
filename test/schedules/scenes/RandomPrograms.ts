/**
 * Random programs of a few fibers on one pool. If each job ends when it runs alone, all end in every schedule, with
 * their own data.
 */
import * as Effect from "effect/Effect"
import { ownWork } from "../../../packages/testing/src/pool/Waiters.ts"
import { Random } from "../../../packages/testing/src/Random.ts"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../../src/services/lease/LeaseHolder.ts"
import type * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene } from "../Stage.ts"

type Job = Effect.Effect<unknown, GpuError, BufferPool.BufferPool | CommandQueue.CommandQueue | DeviceContext>

/** The most that one job holds at a time. */
const largest = 64

const sizes = [16, 32, 48, 64]

const loan = (size: number, owner: number): Job => BufferPool.use(size, (lease) => ownWork(lease, owner))

/** No job holds memory and asks for more, unless it has reserved it. */
const jobs: ReadonlyArray<(random: Random, owner: number) => Job> = [
  (random, owner) => loan(random.pick(sizes), owner),
  (random, owner) =>
    Effect.scoped(Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(random.pick(sizes))
      yield* ownWork(lease, owner)
      yield* Lease.release(lease)
      yield* Effect.yieldNow
    })),
  (random, owner) =>
    BufferPool.useAll(
      [16, random.pick([16, 32])],
      (leases) => Effect.forEach(leases, (lease) => ownWork(lease, owner), { concurrency: "unbounded" })
    ),
  (random, owner) => {
    const size = random.pick([16, 32])
    const nested = BufferPool.use(size, (outer) => Effect.andThen(loan(size, owner), ownWork(outer, owner)))
    return BufferPool.reserve(nested, 2 * size)
  },
  (random, owner) => BufferPool.withBudget(loan(random.pick([16, 32]), owner), 32),
  () => BufferPool.freeHeld,
  (random) => BufferPool.trimTo(random.pick([0, 16, 64])),
  (random, owner) =>
    Effect.scoped(Effect.flatMap(
      LeaseHolder.extract(Effect.andThen(BufferPool.allocate(16), BufferPool.allocate(random.pick([16, 32])))).pipe(
        BufferPool.reserve(48)
      ),
      (lease) => ownWork(lease, owner)
    ))
]

/**
 * The job requests memory while it has some, so it must bypass a waiting reservation: impossible where the wait queue
 * is strictly in order.
 */
const turn = (random: Random, owner: number): Job =>
  BufferPool.exclusively(BufferPool.use(32, () => loan(random.pick([16, 32]), owner)))

const program = (seed: number): Scene => {
  const random = new Random(seed)
  const maxBypasses = random.pick([0, 16])
  const allowed = maxBypasses === 0 ? jobs : [...jobs, turn]
  const fibers = Array.from(
    { length: random.integer(2, 3) },
    (_, fiber) =>
      Array.from({ length: random.integer(1, 2) }, (_, step) => {
        const job = random.pick(allowed)
        const values = random.integer(1, 2 ** 31)
        return Effect.suspend(() => job(new Random(values), 10 * fiber + step + 1))
      })
  )
  return {
    name: `random program ${seed}`,
    host: random.pick([{}, { latency: "1 millis" as const }]),
    pool: {
      maxBytes: random.pick([largest, largest + 32, 2 * largest]),
      onExhausted: "wait",
      clear: random.pick(["never", "acquire"] as const),
      maxBypasses
    },
    run: () =>
      Effect.forEach(fibers, (steps) => Effect.all(steps, { discard: true }), {
        concurrency: "unbounded",
        discard: true
      })
  }
}

export const randomPrograms: ReadonlyArray<Scene> = Array.from({ length: 12 }, (_, index) => program(index + 1))
