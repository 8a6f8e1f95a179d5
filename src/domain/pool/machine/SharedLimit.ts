/**
 * A limit that several memories share with allocations made without a pool. Each memory has its own blocks and its own queue. What it
 * has leased, pending, reserved and held counts here, so a request knows what is in its way before the driver is asked, as under its
 * memory's own limit.
 *
 * @internal
 */
import type { BlockCore } from "../PoolCore.ts"
import type { OuterLimits } from "./OuterLimits.ts"
import type { Family, Queue } from "./Request.ts"
import type { Reservation } from "./Reservation.ts"

/** A memory under the limit. */
export interface Member {
  readonly core: Pick<
    BlockCore<unknown, Family>,
    "activeBlocks" | "evictableBytes" | "managedBytes" | "pendingBytes" | "reservedBytes"
  >
  readonly machine: {
    readonly memory: { readonly queue: Queue }
    readonly state: { readonly reservations: ReadonlySet<Reservation>; readonly ownEpoch: number }
  }
  /** Frees held blocks of so many bytes for others. The epoch does not grow. */
  evict(bytes: number): void
  /** Called after others were asked to evict for it; `some` if they evicted anything. */
  evicted(some: boolean): void
  /**
   * Called when requests begin to wait under the limit, and when the last one ends. In between the member looks at the end of each
   * lease.
   */
  listen(): void
  /** Serves its queue in a later task. */
  serveSoon(): void
}

/** Bytes that only the end of a request or lease can bring back. */
const firmBytes = ({ core }: Member): number =>
  core.managedBytes - core.evictableBytes + core.pendingBytes + core.reservedBytes

/** Held bytes that it can give up. It keeps as many as it has reserved. */
const idleBytes = ({ core }: Member): number => Math.max(0, core.evictableBytes - core.reservedBytes)

const evictableBytes = ({ core }: Member): number => core.evictableBytes

const usedBytes = (member: Member): number => firmBytes(member) + idleBytes(member)

/** Whether all of a member's blocks are held, so that evicting them frees what decorators have added too. */
const holdsOnly = ({ activeBlocks, evictableBytes, pendingBytes }: Member["core"]): boolean =>
  evictableBytes > 0 && activeBlocks === 0 && pendingBytes === 0

/** Whether a member has anything that may come back by itself. An open reservation that waits for the driver has not. */
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
  /** Counts the leases of all members, so that the ages of their jobs can be compared. */
  readonly order = { granted: 0 }
  /** Bytes allocated without a pool, counted before the driver is asked. */
  otherBytes = 0
  /** Grows when `otherBytes` come back, and when a member leaves. */
  epoch = 0
  /** Bytes that decorators of the allocator added to the blocks of each member. They come back with the blocks. */
  readonly #added = new Map<Member, number>()

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Puts a memory under this limit and those around it; the last of `limits` is the outermost. */
  join(member: Member, limits: ReadonlyArray<SharedLimit>): Around {
    for (const { members } of limits) members.add(member)
    return new Around(member, limits)
  }

  leave(member: Member): void {
    this.members.delete(member)
    // The epochs of the others must not shrink: this one keeps the member's.
    this.epoch += member.machine.state.ownEpoch + 1
    this.listen()
    tellWaiting(this.members)
  }

  /** The bytes of all but one member. What decorators added to the blocks of that one counts too. */
  usedBut(member: Member | undefined): number {
    return sum(this.members, usedBytes, member) + this.otherBytes + sum(this.#added.values(), (bytes) => bytes)
  }

  /** Of these, the bytes that no eviction can free. */
  firmBut(member: Member | undefined): number {
    return this.bytesBut(member) + sum(this.#added, ([{ core }, bytes]) => holdsOnly(core) ? 0 : bytes)
  }

  /** The same without what decorators added. */
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
   * Evicts held blocks of members while bytes are missing, first from the member with the most. Held blocks within a member's reserved
   * bytes go last: evicting them gives memory to the driver, but no bytes to the limit. Returns whether it evicted any.
   */
  evict(missing: () => number, without?: Member): boolean {
    const before = sum(this.members, evictableBytes)
    for (const bytesOf of [idleBytes, evictableBytes]) {
      for (const member of Array.from(this.members).sort((a, b) => bytesOf(b) - bytesOf(a))) {
        if (member === without || bytesOf(member) === 0 || missing() <= 0) continue
        member.evict(Math.min(bytesOf(member), missing()))
      }
    }
    return sum(this.members, evictableBytes) < before
  }

  /**
   * Counts bytes before the driver is asked: those of an allocation without a pool, or those that a decorator adds to a block of the
   * member `besides`. Evicts what members hold, if that makes enough room. Returns `undefined` if there is not enough.
   */
  take(bytes: number, besides: Member | undefined): "evicted" | "free" | undefined {
    if (bytes === 0) return "free"
    const missing = () => bytes - (this.maxBytes - this.usedBut(undefined))
    if (bytes > this.maxBytes - this.firmBut(undefined)) return undefined
    const evicted = this.evict(missing)
    // An allocator of the program may free evicted blocks later.
    if (missing() > 0) return undefined
    this.#count(bytes, besides)
    return evicted ? "evicted" : "free"
  }

  /**
   * Bytes of `take` have come back. Those besides a block do not grow this epoch: the member's grows with the block, or not at all
   * after a refusal.
   */
  release(bytes: number, besides: Member | undefined): void {
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
    return sum(this.#outermost.members, evictableBytes, this.#member)
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

  publish(): void {
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

  /** For one allocator call of the member: its pending bytes, which these limits count already. */
  counted(bytes: number): Counted {
    return { member: this.#member, left: new Map(this.limits.map((limit) => [limit, bytes])) }
  }
}

/** For each limit, how many bytes of an allocator call it counts already, through the memory that makes the call. */
export interface Counted {
  readonly member: Member
  readonly left: Map<SharedLimit, number>
}
