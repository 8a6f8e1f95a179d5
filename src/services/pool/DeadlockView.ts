/**
 * The view of a memory, and of those under one limit with it, for the search for deadlocks: their wait queues, what may come back to
 * these, and the waiting requests.
 *
 * A lease belongs to its scope and to the fiber that acquired the first lease of that scope; a lease of `use` belongs to the fiber that
 * runs the function. A request of an operation belongs to the fibers that wait for the operation, which also has the memory that it uses
 * (`Operation`).
 *
 * @internal
 */
import { Deadlocks, type Holding, type Key, type Queue, type Waiting } from "../../domain/pool/machine/Deadlock.ts"
import type { PoolInputs } from "../../domain/pool/machine/PoolInputs.ts"
import type { PoolMachine } from "../../domain/pool/machine/PoolMachine.ts"
import type { Queue as WaitQueue } from "../../domain/pool/machine/Request.ts"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import type { Block, Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseTable } from "../lease/LeaseTable.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"

/** The memory whose requests are watched. */
export interface Watched {
  readonly closed: boolean
  readonly machine: PoolMachine<Leasable>
  readonly inputs: PoolInputs<Leasable>
  readonly leases: LeaseTable
  /** Itself and the memories under the same limit: what comes back to one may serve another. */
  readonly peers: ReadonlyArray<Watched>
  /** Whether memory came back, and its queue is yet to be served. */
  readonly isPublishing: boolean
}

/** The queue of the requests that wait for the memory itself. */
const queueOf = ({ machine }: Watched): WaitQueue => machine.memory.queue

/** Whether memory that comes back to other memories may serve its queue: the driver had none, or only limits around both lack room. */
const waitsForOthers = ({ machine: { memory } }: Watched): boolean => {
  const ownBytes = memory.freeIn(Infinity)
  return memory.queue.isRefused || memory.queue.parked().some(({ drawn, exactSize }) => exactSize - drawn <= ownBytes)
}

/** A queue at this look. */
export interface QueueAtLook extends Queue {
  readonly of: WaitQueue
  /** The inputs of its memory's machine. */
  readonly inputs: PoolInputs<Leasable>
}

export interface HoldingAtLook extends Holding<QueueAtLook> {
  /** What it is, until that ends; `undefined` for what a waiting request has drawn or is charged with. */
  readonly kept: Lease | Reservation | undefined
  /** The bytes that come back to the memory that looks. */
  readonly ownBytes: number
}

export interface WaitingAtLook extends Waiting<QueueAtLook> {
  readonly request: LeaseRequest
}

/** What one look covers. */
interface Look {
  readonly pools: ReadonlyArray<Watched>
  readonly atLook: ReadonlyMap<object, QueueAtLook>
  /** The memories whose requests may be served by what comes back to others. */
  readonly waitingForOthers: ReadonlyArray<Watched>
}

/** The queues to which the bytes of a memory come back: its own, and those of memories that wait for others. */
const queuesFor = (pool: Watched, { waitingForOthers }: Look): ReadonlyArray<WaitQueue> => [
  queueOf(pool),
  ...waitingForOthers.filter((other) => other !== pool).map(queueOf)
]

/** Whether the bytes of a memory come back to the one that looks. */
const isForFirst = (pool: Watched | undefined, { pools, waitingForOthers }: Look): boolean =>
  pool === pools[0] || waitingForOthers.includes(pools[0]!)

/** How many waiting requests that have nothing are included, for each queue, for the error. */
const mostWithoutMemory = 8

/** The owners of a lease, and the allocation that it uses. */
const keysOfLease = ({ block, borrowerId, list }: Lease): ReadonlyArray<Key> => {
  const memory = block === undefined ? [] : [block.value.wholeMemory.allocation]
  return list?.scope === undefined ? [borrowerId, ...memory] : [list.fiberId, list.scope, ...memory]
}

/** The keys of the job that waits with a request, and of the reservations and the section that it is made under. */
const keysOfRequest = (request: LeaseRequest): ReadonlyArray<Key> => {
  const { fiberIds, scopes, uses } = request.party
  const keys: Array<Key> = [request, ...fiberIds, ...scopes, ...uses]
  if (request.section !== undefined) keys.push(request.section)
  for (let from = request.from; from !== undefined; from = from.parent) keys.push(from)
  return keys
}

/** The wait queues that are not empty now, with their requests and everything that may come back to them. */
export const deadlocksIn = (
  pools: ReadonlyArray<Watched>,
  mayBe: (request: LeaseRequest, queue: WaitQueue) => boolean
): Deadlocks<QueueAtLook, HoldingAtLook, WaitingAtLook> => {
  const atLook = new Map<object, QueueAtLook>()
  const waitingForOthers = pools.length > 1 ? pools.filter(waitsForOthers) : []
  const look: Look = { pools, atLook, waitingForOthers }
  for (const pool of pools) {
    const { inputs, machine } = pool
    for (const of of machine.state.queues) {
      const { account, isRefused } = of
      const isForOthers = of === queueOf(pool) && waitingForOthers.includes(pool)
      const ofOthers = isForOthers ? machine.state.port.outer.bytesOfOthers : 0
      const countedBytes = account.countedBytes() + ofOthers
      atLook.set(of, { of, inputs, countedBytes, roomBytes: isRefused ? 0 : account.room() })
    }
  }
  const holdings = pools.flatMap((pool) => holdingsOf(pool, look))
  const keys = new Set(holdings.flatMap(({ keys }) => keys))
  const queues = Array.from(atLook.values())
  const waiting = queues.flatMap((queue) => {
    let without = 0
    // Every request of a memory was made by its shell.
    const parked = queue.of.parked() as ReadonlyArray<LeaseRequest>
    return parked.flatMap((request): ReadonlyArray<WaitingAtLook> => {
      if (!mayBe(request, queue.of)) return []
      return mayHave(request, keys) || without++ < mostWithoutMemory ? [waitingOf(request, queue)] : []
    })
  })
  for (const one of waiting) holdings.push(...inHandsOf(one, look))
  return new Deadlocks({ queues, holdings, waiting })
}

/** Whether the job of a request may have anything. Cheap, since very many requests without anything may wait. */
const mayHave = (request: LeaseRequest, keys: ReadonlySet<Key>): boolean => {
  const { charge, from, maker, scope, section } = request
  if (from !== undefined || section !== undefined || charge !== undefined) return true
  if (keys.has(maker.id) || (scope !== undefined && keys.has(scope))) return true
  const { fiberIds, scopes, uses } = request.party
  return uses.length > 0 || fiberIds.some((id) => keys.has(id)) || scopes.some((one) => keys.has(one))
}

const waitingOf = (request: LeaseRequest, queue: QueueAtLook): WaitingAtLook => {
  const { arrival, drawn, exactSize, waitPolicy } = request
  return {
    request,
    queue,
    arrival,
    keys: keysOfRequest(request),
    // A request for a section is for 0 bytes.
    bytes: Math.max(1, exactSize - drawn),
    mayFail: waitPolicy.waitAtMost === Infinity
  }
}

type Bytes = ReadonlyArray<readonly [queue: object, bytes: number]>

const present = (
  atLook: ReadonlyMap<object, QueueAtLook>,
  bytes: Bytes
): ReadonlyArray<readonly [QueueAtLook, number]> =>
  bytes.flatMap(([of, some]) => {
    const queue = atLook.get(of)
    return queue === undefined ? [] : [[queue, some]]
  })

/** The free bytes of each slab with leases. They come back when all leases of the slab have ended. */
const besideLeases = (leases: ReadonlyArray<Lease>): Map<Block, number> => {
  const free = new Map<Block, number>()
  for (const { block } of leases) {
    if (block !== undefined) free.set(block.whole, (free.get(block.whole) ?? block.whole.capacity) - block.capacity)
  }
  return free
}

const holdingsOf = (pool: Watched, look: Look): Array<HoldingAtLook> => {
  const { atLook } = look
  const holdings: Array<HoldingAtLook> = []
  const ofMemories = queuesFor(pool, look)
  const isForLooker = isForFirst(pool, look)
  const leases = Array.from(pool.leases.live())
  const beside = besideLeases(leases)
  for (const lease of leases) {
    const { account, block, capacity, list, sequence } = lease
    // One lease of a slab stands for what is free beside all of them: counted too early is better than never.
    const whole = capacity + (block === undefined ? 0 : beside.get(block.whole) ?? 0)
    if (block !== undefined) beside.delete(block.whole)
    const bytes: Bytes = [
      ...ofMemories.map((queue) => [queue, whole] as const),
      ...(account?.budgets ?? []).map(({ queue }) => [queue, capacity] as const)
    ]
    holdings.push({
      kept: lease,
      ownBytes: isForLooker ? whole : 0,
      keys: keysOfLease(lease),
      bytes: present(atLook, bytes),
      sequence: block === undefined || list === undefined ? undefined : sequence
    })
  }
  const { state } = pool.machine
  const { sections } = state
  for (const one of state.reservations) {
    const { budgets, fiberId, left, sequence } = one
    const bytes: Bytes = [
      ...ofMemories.map((queue) => [queue, left] as const),
      ...budgets.map((budget) => [budget.queue, one.chargedTo(budget)] as const),
      ...(sections === undefined ? [] : [[sections.queue, sections.isRunning(one) ? 1 : 0] as const])
    ]
    holdings.push({
      kept: one,
      ownBytes: isForLooker ? left : 0,
      keys: [one, fiberId],
      bytes: present(atLook, bytes),
      // A section is no memory.
      sequence: sections?.isRunning(one) === true ? undefined : sequence
    })
  }
  return holdings
}

/** What a waiting request has drawn from its reservation, and what it is charged with. */
const inHandsOf = (
  { queue: { of }, request }: WaitingAtLook,
  look: Look
): ReadonlyArray<HoldingAtLook> => {
  const { budget, charge, drawn, from } = request
  const charged = (budget?.chain ?? []).map((one) => [one.queue, charge?.charged(one) ?? 0] as const)
  const { atLook, pools } = look
  const pool = pools.find(({ machine }) => machine.state.queues.has(of))
  const own = pool === undefined || drawn === 0
    ? []
    : [...queuesFor(pool, look), ...(from?.budgets ?? []).map(({ queue }) => queue)].map((queue) =>
      [queue, drawn] as const
    )
  const bytes = present(atLook, [...own, ...charged]).filter(([, some]) => some !== 0)
  const ownBytes = isForFirst(pool, look) ? drawn : 0
  return bytes.length === 0
    ? []
    : [{
      kept: undefined,
      keys: [request],
      bytes,
      ownBytes,
      sequence: undefined
    }]
}
