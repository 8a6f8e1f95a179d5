/**
 * The limit of an allocator, and its members: the memories whose blocks come from it. Each member has its own blocks
 * and its own line. A request of one member evicts held blocks of the others. When a member frees bytes, requests of
 * others wake up that the limit refused.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scheduler from "effect/Scheduler"
import * as Semaphore from "effect/Semaphore"
import type { Watched } from "./DeadlockView.ts"

/** A memory whose blocks come from the allocator. */
export interface Member extends Watched {
  /** Held bytes, which requests of other members can evict. */
  readonly heldBytes: number
  /** As `PoolState.ownEpoch`. */
  readonly epoch: number
  /** As `PoolState.ownUncontestedEpoch`. */
  readonly uncontestedEpoch: number
  /** Frees held blocks of so many bytes for a request of another member. They are in no epoch. */
  readonly evict: (bytes: number) => void
  /** Requests begin to wait in any line, or the last one ends. Between, the member reports each block that comes back. */
  readonly listen: () => void
}

/** What the limit knows of a member. */
export class Share {
  readonly limit: SharedLimit
  readonly member: Member
  /** Bytes that the member has allocated or requested from the driver. */
  bytes = 0
  /** Grows when bytes come back from programs without a pool, or from a failed attempt that kept bytes from the member. */
  heard = 0

  constructor(limit: SharedLimit, member: Member) {
    this.limit = limit
    this.member = member
  }

  get others(): ReadonlyArray<Share> {
    return Array.from(this.limit.shares).filter((share) => share !== this)
  }

  /** A count that grows when bytes come back from outside the member: the epochs of the others, and what it heard. */
  get epoch(): number {
    return this.others.reduce((sum, { member }) => sum + member.epoch, this.heard)
  }

  get uncontestedEpoch(): number {
    return this.others.reduce((sum, { member }) => sum + member.uncontestedEpoch, this.heard)
  }

  /** An attempt to get several leases. If it cannot get all, it releases those that it has, and returns the reason. */
  attempt<A, E, R>(effect: Effect.Effect<A | undefined, E, R>): Effect.Effect<A | undefined, E, R> {
    const { limit } = this
    return Effect.suspend(() => {
      let hasBegun = false
      // It begins inside, after the finalizer is on the fiber's stack, so that no interruption can lose its end.
      const begun = Effect.suspend(() => {
        hasBegun = true
        limit.begin()
        return effect
      })
      return Effect.onExitPrimitive(begun, (exit) => {
        if (hasBegun) limit.end(Exit.isFailure(exit) || exit.value !== undefined, this)
        return undefined
      })
    })
  }

  /** The same for one that has given up before: of those, one at a time. */
  attemptAgain<A, E, R>(effect: Effect.Effect<A | undefined, E, R>): Effect.Effect<A | undefined, E, R> {
    return this.limit.attempts.withPermit(this.attempt(effect))
  }

  /** Bytes that may come back from outside the member, without held bytes of others: those would have been evicted. */
  get bytesOfOthers(): number {
    return this.others.reduce((bytes, { member }) => bytes - member.heldBytes, this.limit.usedBytes - this.bytes)
  }
}

interface Refused {
  readonly share: Share
  readonly bytes: number
}

export class SharedLimit {
  readonly maxBytes: number
  readonly shares = new Set<Share>()
  /** By it the ages of jobs in different memories are compared. */
  readonly order = { granted: 0 }
  /** Bytes allocated, or requested from the driver. */
  usedBytes = 0
  /** Only one request for several leases tries at a time: two with a part each would make each other fail for ever. */
  readonly attempts = Semaphore.makeUnsafe(1)
  /** The count of attempts under way, and the shares that the limit refused meanwhile. */
  #open = 0
  #refused: Array<Refused> = []
  #isEvicting = false
  #toTell = new Set<Share>()
  readonly #dispatcher: Scheduler.SchedulerDispatcher

  constructor(maxBytes: number, scheduler: Scheduler.Scheduler) {
    this.maxBytes = maxBytes
    this.#dispatcher = scheduler.makeDispatcher()
  }

  join(member: Member): Share {
    const share = new Share(this, member)
    this.shares.add(share)
    return share
  }

  leave(share: Share): void {
    this.shares.delete(share)
    // The others keep counting what came back to this member.
    for (const other of this.shares) other.heard += share.member.epoch + 1
    this.listen()
    this.tell()
  }

  get hasWaiters(): boolean {
    for (const { member: { machine } } of this.shares) if (machine.memory.queue.length > 0) return true
    return false
  }

  /** Whether members have yet to be told of what came back. */
  get isTelling(): boolean {
    return this.#toTell.size > 0
  }

  /** Called when a line gets its first request or loses its last. */
  listen(): void {
    for (const { member } of this.shares) member.listen()
  }

  /** Counts bytes before a call of the driver. Evicts held blocks if that makes enough room. Returns `undefined` if it refuses. */
  take(bytes: number, share: Share | undefined): "evicted" | "free" | undefined {
    const evicted = bytes > this.#room ? undefined : this.evict(() => bytes - (this.maxBytes - this.usedBytes))
    // An allocator in between may free later, or have held blocks of its own.
    if (evicted === undefined || bytes > this.maxBytes - this.usedBytes) {
      if (share !== undefined && this.#open > 0) this.#refused.push({ share, bytes })
      return undefined
    }
    this.count(bytes, share)
    return evicted ? "evicted" : "free"
  }

  count(bytes: number, share: Share | undefined): void {
    this.usedBytes += bytes
    if (share !== undefined) share.bytes += bytes
  }

  /** Bytes that are free or can be evicted. */
  get #room(): number {
    let room = this.maxBytes - this.usedBytes
    for (const { member } of this.shares) room += member.heldBytes
    return room
  }

  /** Evicts held blocks while bytes are missing, first of the member with the most. Whether there were any. */
  evict(missing: () => number): boolean {
    let hasEvicted = false
    const largestFirst = Array.from(this.shares).sort((a, b) => b.member.heldBytes - a.member.heldBytes)
    this.#isEvicting = true
    try {
      for (const { member } of largestFirst) {
        if (missing() <= 0 || member.heldBytes === 0) continue
        member.evict(missing())
        hasEvicted = true
      }
    } finally {
      // An allocator of the program may throw; others must hear of what comes back all the same.
      this.#isEvicting = false
    }
    return hasEvicted
  }

  /** An attempt begins. It may take bytes that the limit then refuses to others. */
  begin(): void {
    this.#open++
  }

  /** If the attempt got nothing, tells once those whom the limit refused meanwhile and who fit now: else two would wake each other for ever. */
  end(gotNothing: boolean, from: Share | undefined): void {
    if (gotNothing) {
      const fits = ({ bytes, share }: Refused) => share !== from && bytes <= this.#room
      const told = this.#refused.filter(fits)
      this.#refused = this.#refused.filter((refused) => !fits(refused))
      for (const { share } of told) this.hear(share)
    }
    this.#open--
    if (this.#open === 0) this.#refused = []
  }

  hear(share: Share): void {
    share.heard++
    this.#tell(share)
  }

  /** Counts bytes that came back to the limit. A member counts what it frees itself. */
  returned(bytes: number, from: Share | undefined): void {
    this.count(-bytes, from)
    // These bytes are for the request that evicted them.
    if (this.#isEvicting) return
    if (from === undefined || !this.shares.has(from)) { for (const share of this.shares) this.hear(share) }
    else this.tell()
  }

  /** Serves lines in a new task, because bytes may come back during a step of another member. */
  tell(): void {
    for (const share of this.shares) this.#tell(share)
  }

  #tell(share: Share): void {
    if (!share.member.machine.memory.queue.isRefused || this.#toTell.has(share)) return
    this.#toTell.add(share)
    if (this.#toTell.size === 1) this.#dispatcher.scheduleTask(this.#serveTold, 0)
  }

  readonly #serveTold = (): void => {
    const told = this.#toTell
    this.#toTell = new Set()
    for (const { member: { closed, inputs, machine } } of told) if (!closed) inputs.serve(machine.memory.queue)
  }
}
