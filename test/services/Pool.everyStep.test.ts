/**
 * Another fiber releases memory at every step of a request that finds none: the request is served once, and leaves
 * nothing behind.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { stepAfter } from "../support/explore.ts"
import { isConsistent, nextTurn, ParkAt } from "../support/hostPool.ts"
import { type Kind, kinds, open, type OpenOptions, type SizedOptions, type SizedPool } from "../support/sizedPools.ts"

/** The leases that the other fiber releases together: room for two such requests, under the limit or in held blocks. */
const returns: ReadonlyArray<ReadonlyArray<number>> = [[60], [50, 50]]

interface Shortage {
  readonly options: OpenOptions
  /** The limit of the budget that everything is leased under. */
  readonly budget?: number
}

const shortages: Readonly<Record<string, Shortage>> = {
  "of the byte limit": { options: { pool: { maxBytes: 100 } } },
  "of the driver's memory": { options: { host: { capacityBytes: 100 } } },
  "of the driver's memory, which comes back late": { options: { host: { capacityBytes: 100, lateFree: true } } },
  "of a budget": { options: {}, budget: 100 },
  "of a budget and the byte limit": { options: { pool: { maxBytes: 100 } }, budget: 100 }
}

const waitPolicies: Readonly<Record<string, SizedOptions>> = {
  "waits": { onExhausted: "wait" },
  "waits for an hour at most": { waitAtMost: "1 hour" },
  "fails": { onExhausted: "fail" }
}

/** The answers of the handlers in order; each takes a turn of the event loop. */
const answers: Readonly<Record<string, ReadonlyArray<boolean>>> = {
  "no handler": [],
  "a handler that declines": [false],
  "a handler that says true and frees nothing": [true],
  "two handlers that decline": [false, false]
}

const until = Effect.fnUntraced(function*(what: string, condition: () => boolean) {
  for (let turns = 0; !condition(); turns++) {
    assert.isBelow(turns, 1000, what)
    yield* nextTurn
  }
})

const requests = {
  allocate: (pool: SizedPool, options: SizedOptions) => pool.allocate(50, options),
  use: (pool: SizedPool, options: SizedOptions) => pool.use(50, () => Effect.yieldNow, options)
}

interface Case {
  readonly kind: Kind
  readonly shortage: Shortage
  readonly waitPolicy: SizedOptions
  readonly handlers: ReadonlyArray<boolean>
  readonly request: (typeof requests)[keyof typeof requests]
  readonly sizes: ReadonlyArray<number>
  /** So many operations later the other fiber allocates and releases a little, and raises the limit. */
  readonly gap?: number
}

/** Releases the other fiber's leases before the k-th operation of the request. False if it has no k-th operation. */
const releasedAt = Effect.fnUntraced(function*(
  { gap, handlers, kind, waitPolicy, request, shortage, sizes }: Case,
  k: number
) {
  const opened = yield* open(kind, shortage.options)
  const [mine, others] = [Scope.makeUnsafe(), Scope.makeUnsafe()]
  const pool = shortage.budget === undefined ? opened.pool : yield* opened.pool.budget(shortage.budget)
  const leases = yield* Effect.forEach(sizes, (size) => Scope.provide(pool.allocate(size), others))
  for (const said of handlers) {
    yield* Scope.provide(pool.onOutOfMemory(() => Effect.as(Effect.yieldNow, said)), others)
  }
  const scheduler = new ParkAt(k)
  const context = opened.context.pipe(Context.add(Scope.Scope, mine), Context.add(Scheduler.Scheduler, scheduler))
  const job: Effect.Effect<unknown, GpuError, Scope.Scope> = request(pool, waitPolicy)
  const fiber = Effect.runForkWith(context)(job)
  const waits = () => Effect.runSync(pool.stats).waiters > 0
  yield* until("stops, waits or ends", () => scheduler.reached || fiber.pollUnsafe() !== undefined || waits())
  if (!scheduler.reached) yield* Effect.replicateEffect(nextTurn, 5, { discard: true })
  const { reached } = scheduler
  yield* Effect.forEach(leases, Lease.release)
  yield* nextTurn
  if (gap !== undefined) {
    scheduler.resumeUntil(gap)
    const stands = () => scheduler.reached || fiber.pollUnsafe() !== undefined
    for (let turns = 0; !stands() && turns < 5; turns++) yield* nextTurn
    yield* Effect.ignore(pool.use(5, () => Effect.void))
    yield* pool.setLimit({ maxBytes: 120 })
    yield* nextTurn
  }
  scheduler.resume()
  yield* until("is answered", () => fiber.pollUnsafe() !== undefined)
  const exit = fiber.pollUnsafe()!
  if (waitPolicy.onExhausted !== "fail") assert.isTrue(Exit.isSuccess(exit), String(exit))

  yield* Scope.close(mine, Exit.void)
  yield* Scope.close(others, Exit.void)
  const { activeBlocks, activeBytes, pendingBytes, waiters } = yield* opened.pool.stats
  deepStrictEqual({ activeBlocks, activeBytes, pendingBytes, waiters }, {
    activeBlocks: 0,
    activeBytes: 0,
    pendingBytes: 0,
    waiters: 0
  })
  const charged = yield* pool.stats
  deepStrictEqual([charged.activeBlocks, charged.pendingBytes, charged.waiters], [0, 0, 0])
  isConsistent(yield* opened.pool.stats, opened.driverObjects)
  yield* opened.closePool
  yield* opened.closeHost
  strictEqual(opened.driverObjects.live, 0)
  return reached
})

/** Tries every step of the request. */
const atEveryStep = Effect.fnUntraced(function*(tried: Case) {
  let k = 0
  while (yield* releasedAt(tried, k)) k = stepAfter(k)
  assert.isAtLeast(k, 2)
  assert.isBelow(k, 1000)
})

/**
 * One kind for each combination of the others: all pools run the same machine and the same shell for requests that wait. Each kind
 * meets each two values of the others.
 */
const kindOf = (...places: ReadonlyArray<number>): Kind =>
  kinds[places.reduce((sum, place) => sum + place, 0) % kinds.length]!

const numbered = <A>(values: Readonly<Record<string, A>>) =>
  Object.entries(values).map(([name, value], place) => ({ name, value, place }))

describe.each(numbered(shortages))("a request in a shortage $name", (shortage) => {
  it.live.each(numbered(answers))(
    "is served once, and leaves nothing behind, where memory is released twice, and there is $name",
    (handlers) =>
      Effect.gen(function*() {
        for (const [patience, waitPolicy] of [waitPolicies.waits!, waitPolicies.fails!].entries()) {
          for (const [distance, gap] of [0, 1, 3].entries()) {
            yield* atEveryStep({
              kind: kindOf(shortage.place, handlers.place, patience, distance),
              shortage: shortage.value,
              waitPolicy,
              handlers: handlers.value,
              request: requests.allocate,
              sizes: [50, 50],
              gap
            })
          }
        }
      })
  )

  describe.each(numbered(waitPolicies))("that $name", (waitPolicy) => {
    describe.each(numbered(answers))("where there is $name", (handlers) => {
      it.live.each(numbered(requests))(
        "is served once, and leaves nothing behind, whenever another gives back: $name",
        (request) =>
          Effect.gen(function*() {
            for (const [together, sizes] of returns.entries()) {
              yield* atEveryStep({
                kind: kindOf(shortage.place, waitPolicy.place, handlers.place, request.place, together),
                shortage: shortage.value,
                waitPolicy: waitPolicy.value,
                handlers: handlers.value,
                request: request.value,
                sizes
              })
            }
          })
      )
    })
  })
})
