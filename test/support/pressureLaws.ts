/**
 * What holds of a pool under pressure whatever happens to it: of its limit and its budgets at every moment, of its
 * waiting lines whenever nothing happens any more.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import type * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type * as PooledBuffer from "../../src/services/buffers/PooledBuffer.ts"
import type { CountingScheduler } from "./CountingScheduler.ts"
import { isConsistent, nextTurn, type OpenPool } from "./hostPool.ts"

/** The pool itself, or a budget. */
export interface Place {
  readonly pool: BufferPool.Pool
  readonly parent: Place | undefined
  /** What was charged or managed when somebody last looked. */
  used: bigint
}

/** One request, and what the test knows of it. */
export interface Client {
  readonly place: Place
  readonly isDone: () => boolean
  readonly lease: () => PooledBuffer.PooledBuffer | undefined
}

export interface Watched extends OpenPool {
  /** The pool first. */
  readonly places: Array<Place>
  readonly clients: Array<Client>
  readonly scheduler: CountingScheduler
  /** Handlers at work: who asked them may have been served meanwhile, and hears of it when they end. */
  handlersAtWork: number
}

const now = <A>(effect: Effect.Effect<A>): A => Effect.runSync(effect)

const isUnder = (place: Place | undefined, budget: Place): boolean =>
  place !== undefined && (place === budget || isUnder(place.parent, budget))

export const liveLeases = ({ clients }: Watched, under: Place): ReadonlyArray<PooledBuffer.PooledBuffer> =>
  clients.flatMap(({ lease, place }) => {
    const leased = isUnder(place, under) ? lease() : undefined
    return leased === undefined || leased.ended !== undefined ? [] : [leased]
  })

/** A limit that was lowered below what is in use keeps it from growing. */
export const staysWithinLimit = (place: Place): void => {
  const { managedBytes, reservedBytes } = now(place.pool.stats)
  const limit = now(place.pool.maxBytes)
  const used = BigInt(managedBytes) + BigInt(reservedBytes)
  assert.isAtLeast(reservedBytes, 0)
  assert(Number(used) <= limit || used <= place.used, `${used} bytes are in use, of ${limit}; before ${place.used}`)
  place.used = used
}

/** At every moment. */
export const lawsHold = (watched: Watched): void => {
  const { clients, driverObjects, places } = watched
  for (const place of places) {
    staysWithinLimit(place)
    const { activeBytes, managedBytes } = now(place.pool.stats)
    const leases = liveLeases(watched, place)
    // A lease that its owner has not heard of yet counts already.
    assert.isAtLeast(activeBytes, leases.reduce((sum, { size }) => sum + size, 0))
    assert.isAtLeast(managedBytes, leases.reduce((sum, { capacity }) => sum + capacity, 0))
  }
  const [pool, ...budgets] = places.map(({ pool }) => now(pool.stats))
  isConsistent(pool!, driverObjects)
  assert.isAtMost(pool!.waiters, clients.filter(({ isDone }) => !isDone()).length)
  assert.isAtMost(budgets.reduce((sum, { waiters }) => sum + waiters, 0), pool!.waiters)
}

const look = ({ clients, faults, places }: Watched): string =>
  JSON.stringify([places.map(({ pool }) => now(pool.stats)), faults.operations, clients.map(({ isDone }) => isDone())])

/** Until nothing happens by itself any more. */
export const calmDown = Effect.fnUntraced(function*(watched: Watched) {
  let [before, tasks, quiet] = [look(watched), watched.scheduler.tasks, 0]
  for (let turns = 0; quiet < 4; turns++) {
    assert.isBelow(turns, 2000, "it never comes to rest")
    yield* nextTurn
    const after = look(watched)
    quiet = after === before && tasks === watched.scheduler.tasks ? quiet + 1 : 0
    before = after
    tasks = watched.scheduler.tasks
  }
})

/** Whenever nothing happens any more. */
export const restLawsHold = Effect.fnUntraced(function*(watched: Watched) {
  yield* calmDown(watched)
  lawsHold(watched)
  if (watched.handlersAtWork === 0) everyLeaseIsKnown(watched)
  yield* nobodySleeps(watched)
})

/** The counters are those of the leases that somebody has, under every budget that a lease was acquired under. */
const everyLeaseIsKnown = (watched: Watched): void => {
  for (const place of watched.places) {
    const stats = now(place.pool.stats)
    const leases = liveLeases(watched, place).filter(({ capacity }) => capacity > 0)
    strictEqual(stats.activeBlocks, leases.length)
    strictEqual(stats.activeBytes, leases.reduce((sum, { size }) => sum + size, 0))
    const active = leases.reduce((sum, { capacity }) => sum + capacity, 0)
    strictEqual(stats.managedBytes - stats.heldBytes, active)
  }
}

/** To set a limit to what it is makes the lines be served once more: nobody in them should have been forgotten. */
const nobodySleeps = Effect.fnUntraced(function*(watched: Watched) {
  const before = look(watched)
  for (const { pool } of watched.places) yield* Effect.exit(pool.setLimit({ maxBytes: now(pool.maxBytes) }))
  yield* calmDown(watched)
  deepStrictEqual(look(watched), before, "somebody in line could have been served")
})
