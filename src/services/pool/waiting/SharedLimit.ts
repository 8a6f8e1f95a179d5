/**
 * The limit of an allocator, and the memories whose blocks come from it. Each memory has its own blocks and its own line. What
 * one holds gives way to a request of another, and what comes back to one wakes the requests of others that the limit
 * had refused.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scheduler from "effect/Scheduler"
import * as Semaphore from "effect/Semaphore"
import type { Watched } from "./Standstill.ts"

/** A memory whose blocks come from the allocator. */
export interface Member extends Watched {
  /** Held bytes, which give way to requests of others. */
  readonly heldBytes: number
  /** Grows with what comes back in it: what an attempt took and gave back does not count. */
  readonly progress: number
  /** Frees held blocks of so many bytes, for a request that takes them: they do not count as progress. */
  readonly evict: (bytes: number) => Effect.Effect<void>
  /** Requests begin to wait for another member, or none does any more: until then it tells of each block that comes back. */
  readonly listen: () => void
}

/** What the limit knows of a member. */
export class Share {
  readonly limit: SharedLimit
  readonly member: Member
  /** Allocated by it, or asked of the driver. */
  bytes = 0
  /** Grows with what came back to the limit from programs without a pool, and from attempts that were in its way. */
  heard = 0

  constructor(limit: SharedLimit, member: Member) {
    this.limit = limit
    this.member = member
  }

  get others(): ReadonlyArray<Share> {
    return Array.from(this.limit.shares).filter((share) => share !== this)
  }

  /** What came back from outside the member. */
  get progress(): number {
    return this.others.reduce((sum, { member }) => sum + member.progress, this.heard)
  }

  /** An attempt to get several leases, which gives back what it has got and answers why, where that is not all. */
  attempt<A, E, R>(effect: Effect.Effect<A | undefined, E, R>): Effect.Effect<A | undefined, E, R> {
    const { limit } = this
    return limit.attempts.withPermit(Effect.suspend(() => {
      const since = limit.begin()
      return Effect.onExitPrimitive(effect, (exit) => {
        limit.end(since, Exit.isFailure(exit) || exit.value !== undefined, this)
        return undefined
      })
    }))
  }

  /** Bytes that may come back from outside the member. What others hold does not count: it would have given way. */
  get bytesOfOthers(): number {
    return this.others.reduce((bytes, { member }) => bytes - member.heldBytes, this.limit.usedBytes - this.bytes)
  }
}

/** The shares of the memory for which the driver is asked. */
export const CurrentShares = Context.Reference<ReadonlyArray<Share>>("effect-gpu-pool/CurrentShares", {
  defaultValue: () => []
})

export class SharedLimit {
  readonly maxBytes: number
  readonly shares = new Set<Share>()
  /** Allocated, or asked of the driver. */
  usedBytes = 0
  /** Of requests for several leases one tries at a time: two that have a part each would give up in turn, for ever. */
  readonly attempts = Semaphore.makeUnsafe(1)
  /** Attempts under way, and whom the limit has refused meanwhile. */
  #open = 0
  #refused: Array<{ readonly share: Share; readonly bytes: number }> = []
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
    // What came back in it is not forgotten.
    for (const other of this.shares) other.heard += share.member.progress + 1
    this.listen()
    this.tell()
  }

  get hasWaiters(): boolean {
    for (const { member: { line } } of this.shares) if (line.length > 0) return true
    return false
  }

  /** A line got its first request, or lost its last. */
  listen(): void {
    for (const { member } of this.shares) member.listen()
  }

  /**
   * Counts bytes that the driver will be asked for. Held blocks give way, if that is enough: the effect then logs what
   * could not be freed. `undefined` is a refusal.
   */
  take(bytes: number, share: Share | undefined): Effect.Effect<void>[] | undefined {
    const evicted = this.#makeRoom(bytes)
    if (evicted === undefined) {
      if (share !== undefined && this.#open > 0) this.#refused.push({ share, bytes })
      return undefined
    }
    this.count(bytes, share)
    return evicted
  }

  count(bytes: number, share: Share | undefined): void {
    this.usedBytes += bytes
    if (share !== undefined) share.bytes += bytes
  }

  /** Bytes that are free, or held and would give way. */
  get #room(): number {
    let room = this.maxBytes - this.usedBytes
    for (const { member } of this.shares) room += member.heldBytes
    return room
  }

  #makeRoom(bytes: number): Effect.Effect<void>[] | undefined {
    return bytes > this.#room ? undefined : this.evict(() => bytes - (this.maxBytes - this.usedBytes))
  }

  /** Held blocks give way, of whoever holds most, while bytes are missing. */
  evict(missing: () => number): Effect.Effect<void>[] {
    const evicted: Effect.Effect<void>[] = []
    this.#isEvicting = true
    for (const { member } of Array.from(this.shares).sort((a, b) => b.member.heldBytes - a.member.heldBytes)) {
      if (missing() > 0 && member.heldBytes > 0) evicted.push(member.evict(missing()))
    }
    this.#isEvicting = false
    return evicted
  }

  /** An attempt begins, which may take bytes that others are refused for. The answer is for its end. */
  begin(): number {
    this.#open++
    return this.#refused.length
  }

  /**
   * The attempt is over. Where it came to nothing, those hear of it whom it kept from something: if others did too, two
   * that try in turn would wake each other for ever.
   */
  end(since: number, cameToNothing: boolean, from: Share | undefined): void {
    if (cameToNothing) {
      for (const { bytes, share } of this.#refused.slice(since)) {
        if (share !== from && bytes <= this.#room) this.hear(share)
      }
    }
    this.#open--
    if (this.#open === 0) this.#refused = []
  }

  hear(share: Share): void {
    share.heard++
    this.#tell(share)
  }

  /** Memory came back to the limit. What a member frees it counts itself. */
  returned(bytes: number, from: Share | undefined): void {
    this.count(-bytes, from)
    // Who is to get it now is the request that it was evicted for.
    if (this.#isEvicting) return
    if (from === undefined) { for (const share of this.shares) this.hear(share) }
    else this.tell()
  }

  /** In a task of its own: what comes back may do so in the midst of another member's step. */
  tell(): void {
    for (const share of this.shares) this.#tell(share)
  }

  #tell(share: Share): void {
    if (!share.member.line.isRefused || this.#toTell.has(share)) return
    this.#toTell.add(share)
    if (this.#toTell.size === 1) this.#dispatcher.scheduleTask(this.#serveTold, 0)
  }

  readonly #serveTold = (): void => {
    const told = this.#toTell
    this.#toTell = new Set()
    for (const { member } of told) if (!member.closed) member.line.serve()
  }
}
