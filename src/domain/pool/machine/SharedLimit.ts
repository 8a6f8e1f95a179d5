/**
 * A limit that several memories share, and programs without a pool. Each memory has its own blocks and its own queue. What it has leased,
 * pending, reserved and held counts here, so a request knows what is in its way before any driver is asked, as under its memory's own limit.
 *
 * @internal
 */
import type { PoolCore } from "../PoolCore.ts"
import type { OuterLimits } from "./OuterLimits.ts"
import type { Family, Queue } from "./Request.ts"
import type { Reservation } from "./Reservation.ts"

/** A memory under the limit. */
export interface Member {
  readonly core: Pick<
    PoolCore<unknown, Family>,
    "activeBlocks" | "heldBytes" | "managedBytes" | "pendingBytes" | "reservedBytes"
  >
  readonly machine: {
    readonly memory: { readonly queue: Queue }
    readonly state: { readonly reservations: ReadonlySet<Reservation>; readonly ownEpoch: number }
  }
  /** Frees held blocks of so many bytes for others. They are in no epoch. */
  evict(bytes: number): void
  /** Others have given up what they hold for it, if they had any. */
  evicted(some: boolean): void
  /** Requests begin to wait in any queue, or the last one ends. Between, the member tells of each block that comes back. */
  listen(): void
  /** Serves its queue in a later task. */
  serveSoon(): void
}

/** Bytes that only a request's end can bring back. */
const firmBytes = ({ core }: Member): number =>
  core.managedBytes - core.heldBytes + core.pendingBytes + core.reservedBytes

/** Bytes that it can give up. What it has reserved may come out of what it holds. */
const idleBytes = ({ core }: Member): number => Math.max(0, core.heldBytes - core.reservedBytes)

const heldBytes = ({ core }: Member): number => core.heldBytes

const usedBytes = (member: Member): number => firmBytes(member) + idleBytes(member)

/** Whether all of a member's blocks can be evicted, and with them what decorators have added. */
const holdsOnly = ({ activeBlocks, heldBytes, pendingBytes }: Member["core"]): boolean =>
  heldBytes > 0 && activeBlocks === 0 && pendingBytes === 0

/** Whether something comes back from a member as long as nobody gives it more. A reservation that waits for the driver has nothing. */
const isBusy = ({ core, machine: { memory, state } }: Member): boolean => {
  if (core.activeBlocks > 0 || core.pendingBytes > 0) return true
  if (core.reservedBytes === 0) return false
  const waiting = memory.queue.parked().filter(({ asks }) => asks?.isOpen === true)
  return waiting.length < state.reservations.size
}

const sum = <A>(all: Iterable<A>, of: (one: A) => number, without?: A): number => {
  let sum = 0
  for (const one of all) if (one !== without) sum += of(one)
  return sum
}

const tellWaiting = (members: Iterable<Member>): void => {
  for (const member of members) if (member.machine.memory.queue.length > 0) member.serveSoon()
}

export class SharedLimit {
  readonly maxBytes: number
  readonly members = new Set<Member>()
  /** By it the ages of jobs in different memories are compared. */
  readonly order = { granted: 0 }
  /** Bytes of programs without a pool, from before the driver is asked. */
  otherBytes = 0
  /** Grows when these come back, and when a member has left. */
  epoch = 0
  /** Bytes that decorators of the allocator have for the blocks of a member, besides those of the blocks. They come back with these. */
  readonly #added = new Map<Member, number>()

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** From now on a memory is under this limit and those around it, of which the outermost is the last. */
  join(member: Member, limits: ReadonlyArray<SharedLimit>): Around {
    for (const { members } of limits) members.add(member)
    return new Around(member, limits)
  }

  leave(member: Member): void {
    this.members.delete(member)
    // The others keep counting what came back to it.
    this.epoch += member.machine.state.ownEpoch + 1
    this.listen()
    tellWaiting(this.members)
  }

  /** Bytes of all but one member; what decorators add to its blocks is not its own. */
  usedBut(member: Member | undefined): number {
    return sum(this.members, usedBytes, member) + this.otherBytes + sum(this.#added.values(), (bytes) => bytes)
  }

  firmBut(member: Member | undefined): number {
    return this.bytesBut(member) + sum(this.#added, ([{ core }, bytes]) => holdsOnly(core) ? 0 : bytes)
  }

  /** The same without what decorators add. */
  bytesBut(member: Member | undefined): number {
    return sum(this.members, firmBytes, member) + this.otherBytes
  }

  get hasWaiters(): boolean {
    for (const { machine } of this.members) if (machine.memory.queue.length > 0) return true
    return false
  }

  /** Called when a queue gets its first request or loses its last. */
  listen(): void {
    for (const member of this.members) member.listen()
  }

  /**
   * Evicts held blocks of members while bytes are missing, first of the member with the most. Held blocks that a member needs for its
   * reservations go last: to evict them gives memory to the driver, but no bytes to the limit. It returns whether it evicted any.
   */
  evict(missing: () => number, without?: Member): boolean {
    const before = sum(this.members, heldBytes)
    for (const bytesOf of [idleBytes, heldBytes]) {
      for (const member of Array.from(this.members).sort((a, b) => bytesOf(b) - bytesOf(a))) {
        if (member === without || bytesOf(member) === 0 || missing() <= 0) continue
        member.evict(Math.min(bytesOf(member), missing()))
      }
    }
    return sum(this.members, heldBytes) < before
  }

  /**
   * Counts bytes before the driver is asked, of a program without a pool or besides those of a member's block, and evicts what members
   * hold if that makes enough room. `undefined` if there is none.
   */
  take(bytes: number, besides: Member | undefined): "evicted" | "free" | undefined {
    if (bytes === 0) return "free"
    const missing = () => bytes - (this.maxBytes - this.usedBut(undefined))
    if (bytes > this.maxBytes - this.firmBut(undefined)) return undefined
    const evicted = this.evict(missing)
    // An allocator of the program may give back later what members give up.
    if (missing() > 0) return undefined
    this.#count(bytes, besides)
    return evicted ? "evicted" : "free"
  }

  /** Such bytes have come back. In the epoch of a member they are with its block, and what a refused call gives back is in none. */
  giveBack(bytes: number, besides: Member | undefined): void {
    if (bytes === 0) return
    this.#count(-bytes, besides)
    if (besides === undefined) this.epoch++
    tellWaiting(this.members)
  }

  #count(bytes: number, besides: Member | undefined): void {
    if (besides === undefined) {
      this.otherBytes += bytes
      return
    }
    const added = (this.#added.get(besides) ?? 0) + bytes
    if (added === 0) this.#added.delete(besides)
    else this.#added.set(besides, added)
  }
}

export class Around implements OuterLimits {
  readonly limits: ReadonlyArray<SharedLimit>
  readonly #member: Member
  readonly maxBytes: number

  constructor(member: Member, limits: ReadonlyArray<SharedLimit>) {
    this.#member = member
    this.limits = limits
    this.maxBytes = Math.min(...limits.map(({ maxBytes }) => maxBytes))
  }

  /** All memories under any of the limits are under this one too. */
  get #outermost(): SharedLimit {
    return this.limits.at(-1)!
  }

  get others(): ReadonlyArray<Member> {
    return Array.from(this.#outermost.members).filter((member) => member !== this.#member)
  }

  get order(): SharedLimit["order"] {
    return this.#outermost.order
  }

  get leftBytes(): number {
    return Math.min(...this.limits.map((limit) => limit.maxBytes - limit.usedBut(this.#member)))
  }

  get attainableBytes(): number {
    return Math.min(...this.limits.map((limit) => limit.maxBytes - limit.firmBut(this.#member)))
  }

  get bytesOfOthers(): number {
    return this.#outermost.bytesBut(this.#member)
  }

  get heldByOthers(): number {
    return sum(this.#outermost.members, heldBytes, this.#member)
  }

  get mayComeBack(): boolean {
    return this.#outermost.otherBytes > 0 || this.others.some(isBusy)
  }

  get othersAtWork(): boolean {
    return this.others.some(({ machine: { memory: { queue } } }) => queue.isRefused && queue.atWork > 0)
  }

  get epoch(): number {
    const ofOthers = sum(this.#outermost.members, ({ machine: { state } }) => state.ownEpoch, this.#member)
    return ofOthers + this.#outermost.epoch
  }

  evict(missing: () => number): boolean {
    if (missing() <= 0) return false
    let hasEvicted = false
    for (const limit of this.limits) if (limit.evict(missing, this.#member)) hasEvicted = true
    this.#member.evicted(hasEvicted)
    return hasEvicted
  }

  tell(): void {
    tellWaiting(this.others)
  }

  listen(): void {
    this.#outermost.listen()
  }

  get hasWaiters(): boolean {
    return this.#outermost.hasWaiters
  }

  leave(): void {
    for (const limit of this.limits) limit.leave(this.#member)
  }

  /** Bytes that the member has pending for one call of its allocator: they count already where that counts. */
  counted(bytes: number): Counted {
    return { member: this.#member, left: new Map(this.limits.map((limit) => [limit, bytes])) }
  }
}

/** For each limit, how many bytes of a call are counted with the memory that makes it, and not allocated yet. */
export interface Counted {
  readonly member: Member
  readonly left: Map<SharedLimit, number>
}
