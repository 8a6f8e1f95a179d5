/**
 * What holds of a pool under pressure whatever happens to it: of its limit and its budgets at every moment, of its
 * waiting lines whenever nothing happens any more.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { Host } from "../../src/host.ts"
import type { MemoryControls } from "../../src/services/pool/Pool.ts"
import type { CountingScheduler } from "./CountingScheduler.ts"
import { isConsistent, nextTurn } from "./hostPool.ts"
import type { Kind, SizedLease, SizedPool } from "./sizedPools.ts"

/** A memory, a pool on it, or a budget. */
export interface Place {
  readonly controls: MemoryControls
  readonly parent: Place | undefined
  /** What was charged or managed, or certain to be, when somebody last looked. */
  certain: bigint
  /** The highest limit that it has had. */
  mostBytes: number
  /** Nothing can be leased under it any more. */
  closed: boolean
}

export const placeOf = (controls: MemoryControls, parent: Place | undefined): Place => ({
  controls,
  parent,
  certain: 0n,
  mostBytes: 0,
  closed: false
})

/** A place that leases; a memory that several pools share does not. */
export interface LeasingPlace extends Place {
  readonly controls: SizedPool
  readonly kind: Kind
}

export const leasingPlaceOf = (kind: Kind, controls: SizedPool, parent: Place | undefined): LeasingPlace => ({
  ...placeOf(controls, parent),
  controls,
  kind
})

/** One request, and what the test knows of it. */
export interface Client {
  readonly place: LeasingPlace
  readonly isDone: () => boolean
  readonly lease: () => SizedLease | undefined
  /** Bytes that it waits for, if it waits. */
  readonly needed: () => number
}

export interface Watched {
  readonly driverObjects: DriverObjects
  readonly faults: Host.Faults
  /** The memory itself. */
  readonly root: Place
  /** Pools and budgets; the memory too, if it is that of one pool. */
  readonly places: Array<LeasingPlace>
  readonly clients: Array<Client>
  readonly scheduler: CountingScheduler
  /** Handlers at work: who asked them may have been served meanwhile, and hears of it when they end. */
  handlersAtWork: number
  /** How often a request may be passed by others. */
  readonly maxBypasses: number
  /** Whether the driver has all the memory that the limit allows, and does what it is asked for. */
  readonly driverIsRich: () => boolean
  /** Whether anything was reserved. */
  readonly hasReserved: () => boolean
}

const now = <A>(effect: Effect.Effect<A>): A => Effect.runSync(effect)

const placesAround = (place: Place): ReadonlyArray<Place> =>
  place.parent === undefined ? [place] : [place, ...placesAround(place.parent)]

const isUnder = (place: Place, around: Place): boolean => placesAround(place).includes(around)

export const isClosed = (place: Place): boolean => placesAround(place).some(({ closed }) => closed)

const allPlaces = ({ places, root }: Watched): ReadonlySet<Place> => new Set<Place>([root, ...places])

export const liveLeases = ({ clients }: Watched, under: Place): ReadonlyArray<SizedLease> =>
  clients.flatMap(({ lease, place }) => {
    const leased = isUnder(place, under) ? lease() : undefined
    return leased === undefined || leased.ended !== undefined ? [] : [leased]
  })

/** A limit that was lowered below what is in use, or reserved, keeps it from growing. */
export const staysWithinLimit = (place: Place): void => {
  const { managedBytes, pendingBytes, reservedBytes } = now(place.controls.stats)
  const limit = now(place.controls.maxBytes)
  const used = BigInt(managedBytes) + BigInt(pendingBytes)
  assert.isAtLeast(pendingBytes, 0)
  assert(
    Number(used) <= limit || used <= place.certain,
    `${used} bytes are in use, of ${limit}; before ${place.certain}`
  )
  place.certain = used + BigInt(reservedBytes)
  place.mostBytes = Math.max(place.mostBytes, limit)
}

/** At every moment. */
export const lawsHold = (watched: Watched): void => {
  const { clients, driverObjects, places, root } = watched
  for (const place of allPlaces(watched)) {
    staysWithinLimit(place)
    const { activeBytes, managedBytes } = now(place.controls.stats)
    const leases = liveLeases(watched, place)
    // A lease that its owner has not heard of yet counts already.
    assert.isAtLeast(activeBytes, leases.reduce((sum, { size }) => sum + size, 0))
    assert.isAtLeast(managedBytes, leases.reduce((sum, { capacity }) => sum + capacity, 0))
  }
  const stats = now(root.controls.stats)
  isConsistent(stats, driverObjects)
  assert.isAtMost(stats.waiters, clients.filter(({ isDone }) => !isDone()).length)
  const within = places.filter((place) => place !== root)
  assert.isAtMost(within.reduce((sum, { controls }) => sum + now(controls.stats).waiters, 0), stats.waiters)
  for (const client of clients) endsWithItsPool(client)
}

/** The leases of a pool that closed have ended, and those of the others on its memory have not. */
const endsWithItsPool = ({ lease, place }: Client): void => {
  const leased = lease()
  if (leased === undefined) return
  if (isClosed(place)) assert(leased.ended !== undefined, "a lease outlives its pool")
  else assert(leased.ended !== "poolClosed", "a lease ends with a pool that is not its own")
}

const look = ({ clients, faults, ...watched }: Watched): string =>
  JSON.stringify([
    Array.from(allPlaces({ clients, faults, ...watched }), ({ controls }) => now(controls.stats)),
    faults.operations,
    clients.map(({ isDone }) => isDone())
  ])

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
  if (watched.handlersAtWork === 0) {
    everyLeaseIsKnown(watched)
    nothingFitsIsIdle(watched)
  }
  // What is reserved is kept from others within what the device has; what is then leased of it only within the limit.
  if (watched.driverIsRich() || !watched.hasReserved()) yield* nobodySleeps(watched)
})

/** The counters are those of the leases that somebody has, under every budget that a lease was acquired under. */
const everyLeaseIsKnown = (watched: Watched): void => {
  for (const place of allPlaces(watched)) {
    const stats = now(place.controls.stats)
    const leases = liveLeases(watched, place).filter(({ capacity }) => capacity > 0)
    strictEqual(stats.activeBlocks, leases.length)
    strictEqual(stats.activeBytes, leases.reduce((sum, { size }) => sum + size, 0))
    const active = leases.reduce((sum, { capacity }) => sum + capacity, 0)
    strictEqual(stats.managedBytes - stats.heldBytes, active)
  }
}

/** Bytes that may be leased: free under the limit, or held for whomever. */
const idleBytes = ({ controls }: Place): number => {
  const { heldBytes, managedBytes, pendingBytes, reservedBytes } = now(controls.stats)
  return now(controls.maxBytes) - (managedBytes - heldBytes) - pendingBytes - reservedBytes
}

/**
 * Nobody waits for memory that is idle in any pool: not the first in the wait queue, and nobody else if all may be passed. Those
 * without a limit of their own wait for the memory itself.
 */
const nothingFitsIsIdle = (watched: Watched): void => {
  const { clients, driverIsRich, maxBypasses, root } = watched
  const waiting = clients.filter(({ isDone }) => !isDone())
  if (!driverIsRich() || root.closed || now(root.controls.stats).pendingBytes > 0) return
  const fits = (client: Client) => client.needed() <= idleBytes(root)
  const unlimited = waiting.filter(({ place }) =>
    placesAround(place).every((around) => around === root || now(around.controls.maxBytes) === Infinity)
  )
  if (unlimited.length === 0) return
  const sleeps = maxBypasses > clients.length ? unlimited.some(fits) : waiting.every(fits)
  assert(!sleeps, `${idleBytes(root)} bytes are idle, for ${JSON.stringify(waiting.map(({ needed }) => needed()))}`)
}

/** To set a limit to what it is makes the lines be served once more: nobody in them should have been forgotten. */
const nobodySleeps = Effect.fnUntraced(function*(watched: Watched) {
  const before = look(watched)
  for (const { controls } of allPlaces(watched)) {
    yield* Effect.exit(controls.setLimit({ maxBytes: now(controls.maxBytes) }))
  }
  yield* calmDown(watched)
  deepStrictEqual(look(watched), before, "somebody in the wait queue could have been served")
})
