/**
 * Laws of a pool under pressure: of its limit and its budgets at every moment, of its wait queues whenever the pool is
 * idle.
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
  /** The bytes that were charged, managed or reserved at the last check. */
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

/** A place that leases: a pool or a budget, but not a memory that several pools share. */
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
  /** The number of running handlers. Their request may be served meanwhile, but ends only when they end. */
  handlersAtWork: number
  /** How often a request may be bypassed. */
  readonly maxBypasses: number
  /** Whether the driver has all the memory that the limit allows, and never fails. */
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

/** Checks the limit. A limit lowered below what is in use or reserved only stops growth. */
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

/** Checks the laws that hold at every moment. */
export const lawsHold = (watched: Watched): void => {
  const { clients, driverObjects, places, root } = watched
  for (const place of allPlaces(watched)) {
    staysWithinLimit(place)
    const { activeBytes, managedBytes } = now(place.controls.stats)
    const leases = liveLeases(watched, place)
    // A lease counts before its owner's fiber has resumed.
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

/** Checks that the leases of a closed pool have ended, and those of the other pools on its memory have not. */
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

/** Waits until nothing happens by itself any more. */
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

/** Checks the laws that hold while the pool is idle. */
export const restLawsHold = Effect.fnUntraced(function*(watched: Watched) {
  yield* calmDown(watched)
  lawsHold(watched)
  if (watched.handlersAtWork === 0) {
    everyLeaseIsKnown(watched)
    nothingFitsIsIdle(watched)
  }
  // Reserved bytes are withheld from others up to the device's memory, but leased only within the limit.
  if (watched.driverIsRich() || !watched.hasReserved()) yield* nobodySleeps(watched)
})

/** Checks that the counters agree with the leases, in every budget of each lease. */
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

/** Bytes that may be leased: free under the limit, or held. */
const idleBytes = ({ controls }: Place): number => {
  const { heldBytes, managedBytes, pendingBytes, reservedBytes } = now(controls.stats)
  return now(controls.maxBytes) - (managedBytes - heldBytes) - pendingBytes - reservedBytes
}

/**
 * Checks that no request waits for memory that is idle in any pool: not the first in the wait queue, nor any other if
 * all may be bypassed. In places without a limit of their own, requests wait for the memory itself.
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

/**
 * Sets each limit to its current value, which serves the wait queues once more, and checks that no request was
 * forgotten.
 */
const nobodySleeps = Effect.fnUntraced(function*(watched: Watched) {
  const before = look(watched)
  for (const { controls } of allPlaces(watched)) {
    yield* Effect.exit(controls.setLimit({ maxBytes: now(controls.maxBytes) }))
  }
  yield* calmDown(watched)
  deepStrictEqual(look(watched), before, "somebody in the wait queue could have been served")
})
