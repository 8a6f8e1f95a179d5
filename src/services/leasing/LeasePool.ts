/**
 * The synchronous heart of a buffer pool: grants leases on blocks, ends them, and gives blocks back to the allocator.
 * Its state is one PoolCore and the lists of live leases. Everything here happens within one step, so no interruption
 * can come between two changes.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import type { GpuError, Holder, Released } from "../../domain/GpuError.ts"
import { Largest } from "../../domain/Largest.ts"
import type { PoolBlock, PoolCore } from "../../domain/PoolCore.ts"
import type { Allocator } from "../Allocator.ts"
import * as CallSite from "../CallSite.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import type { Attachments } from "../memory/Attachments.ts"
import { PooledBuffer } from "../PooledBuffer.ts"
import type { Budget } from "./Budget.ts"
import { AccountedLease, type LeaseAccount } from "./LeaseAccount.ts"
import { LeaseList } from "./LeaseList.ts"

/**
 * What is left to do after several steps: mostly nothing.
 *
 * @internal
 */
export const allOf = (effects: ReadonlyArray<Effect.Effect<void> | undefined>): Effect.Effect<void> => {
  const left = effects.filter((effect) => effect !== undefined)
  return left.length === 0 ? Exit.void : Effect.all(left, { discard: true })
}

/**
 * The one after the other, of two things of which mostly neither is to be done.
 *
 * @internal
 */
export const together = (
  one: Effect.Effect<void> | undefined,
  other: Effect.Effect<void> | undefined
): Effect.Effect<void> | undefined =>
  one === undefined || other === undefined ? one ?? other : Effect.andThen(one, other)

/** @internal */
export class LeasePool {
  readonly info: DeviceInfo
  readonly core: PoolCore<DeviceBuffer, BufferUsage>
  readonly #allocator: Allocator["Service"]
  closed = false
  /** The live leases of `use`. */
  readonly loans = new LeaseList(this, undefined, 0)
  /** What follows from a block that came back; `undefined` while nobody waits and nothing is trimmed. */
  onReturn: ((block: PoolBlock<DeviceBuffer>) => Effect.Effect<void> | undefined) | undefined = undefined
  /** Leases granted so far; their ages are counted from it. */
  #sequence = 0
  /** The list used last: a program mostly stays in one scope for a while. */
  #recentList: LeaseList | undefined = undefined
  /** The other lists, by scope. */
  readonly #lists = new Map<LeaseList["scope"], LeaseList>()

  constructor(
    info: DeviceInfo,
    core: PoolCore<DeviceBuffer, BufferUsage>,
    allocator: Allocator["Service"]
  ) {
    this.info = info
    this.core = core
    this.#allocator = allocator
  }

  /** Leases granted so far. */
  get granted(): number {
    return this.#sequence
  }

  /** A lease on an active block, or of zero bytes without a block. */
  grant(
    list: LeaseList,
    block: PoolBlock<DeviceBuffer> | undefined,
    size: number,
    usage: BufferUsage,
    label: string | undefined
  ): PooledBuffer {
    // Mostly the same lease comes again: a comparison is cheaper than a write.
    if (block !== undefined && block.value.label !== label) block.value.label = label
    const lease = new PooledBuffer(block, size, usage, label, this.#sequence++)
    list.add(lease)
    return lease
  }

  /** The same for a lease that a budget or a reservation pays for. */
  grantOn(
    account: LeaseAccount,
    list: LeaseList,
    block: PoolBlock<DeviceBuffer>,
    size: number,
    usage: BufferUsage,
    label: string | undefined
  ): PooledBuffer {
    block.value.label = label
    const lease = new AccountedLease(block, size, usage, label, this.#sequence++, account)
    list.add(lease)
    return lease
  }

  /**
   * Ends a live lease, what stands on it first; its block is held again, or freed. A failing free is counted here and
   * logged by the effect that comes back, if one does.
   */
  endUnsafe(lease: PooledBuffer, why: Released["why"]): Effect.Effect<void> | undefined {
    lease.ended = why
    if (lease.list !== undefined) lease.list.remove(lease)
    const block = lease.block
    if (block === undefined) return undefined
    const left = lease.attached === undefined ? undefined : this.#endAttached(lease.attached, why)
    lease.block = undefined
    const { account, size } = lease
    const recycled = this.recycle(block)
    const failed = left === undefined ? recycled : together(left, recycled)
    if (account !== undefined) account.end(size, block.capacity)
    return this.onReturn === undefined ? failed : together(failed, this.onReturn(block))
  }

  /** Before anybody else can have the block: what ends here may still record work on it. */
  #endAttached(attached: Attachments, why: Released["why"]): Effect.Effect<void> | undefined {
    const exit = attached.endAll(why)
    return Exit.isSuccess(exit) ? undefined : this.#releaseFailed(exit)
  }

  /** Makes an active block held, or frees it. */
  recycle(block: PoolBlock<DeviceBuffer>): Effect.Effect<void> | undefined {
    if (block.value.recyclable) return this.core.release(block) ? undefined : this.free(block)
    this.core.discard(block)
    return this.free(block)
  }

  /** Gives a detached block back to the allocator, in this very step. */
  free(block: PoolBlock<DeviceBuffer>): Effect.Effect<void> | undefined {
    const exit = this.#allocator.freeUnsafe(block.value)
    this.core.freed(block)
    return Exit.isSuccess(exit) ? undefined : this.#releaseFailed(exit)
  }

  /** Frees detached blocks one after the other; each is evicted only when the one before it is gone. */
  freeAll(blocks: Iterable<PoolBlock<DeviceBuffer>>): Effect.Effect<void> {
    const failures: Array<Effect.Effect<void> | undefined> = []
    for (const block of blocks) failures.push(this.free(block))
    return allOf(failures)
  }

  /** Ends everything: the leases first, then the held blocks. */
  close(): Effect.Effect<void> {
    this.closed = true
    this.core.stopHolding()
    this.onReturn = undefined
    const ended = this.#openLists().map((list) => list.endAll("poolClosed"))
    return Effect.andThen(allOf(ended), this.freeAll(this.core.evictAll()))
  }

  /** All live leases. */
  live(): Array<PooledBuffer> {
    const live: Array<PooledBuffer> = []
    for (const list of this.#openLists()) {
      for (let lease = list.last; lease !== undefined; lease = lease.previousInList) live.push(lease)
    }
    return live
  }

  /** The largest live leases, for the evidence of an out-of-memory error; under a budget, those charged to it. */
  largestHolders(count: number, budget?: Budget): ReadonlyArray<Holder> {
    // A lease of zero bytes holds nothing.
    const largest = new Largest<PooledBuffer>(count, ({ size }) => size)
    for (const lease of this.live()) {
      if (budget === undefined || lease.account?.budget?.chain.includes(budget)) largest.add(lease)
    }
    return largest.sorted().map((lease) => {
      const { capacity, label, sequence, size } = lease
      const callSite = CallSite.of(lease)
      const holder = { label, size, capacity, age: this.#sequence - sequence - 1 }
      return callSite === undefined ? holder : { ...holder, callSite }
    })
  }

  /** The open list of a scope, if it has one. */
  listOf(scope: Scope.Scope): LeaseList | undefined {
    const recent = this.#recentList
    if (recent !== undefined && recent.scope === scope) return recent
    // Asking an empty map would still give the scope an identity hash, which a hit can do without.
    const list = this.#lists.size === 0 ? undefined : this.#lists.get(scope)
    if (list !== undefined) this.#remember(list)
    return list
  }

  /**
   * Runs `f` with the list of a scope. A new list is registered in the scope before `f` can put a lease into it,
   * because the run loop may yield between two steps; it is closed already when the scope is. Another fiber may have
   * registered one for the same scope meanwhile: then that one is used, so that a scope has one list.
   */
  withList<A>(
    scope: Scope.Scope,
    fiber: Fiber.Fiber<unknown, unknown>,
    f: (list: LeaseList, fiber: Fiber.Fiber<unknown, unknown>) => Effect.Effect<A, GpuError>
  ): Effect.Effect<A, GpuError> {
    const known = this.listOf(scope)
    if (known !== undefined) return f(known, fiber)
    const list = new LeaseList(this, scope, fiber.id)
    return Effect.flatMap(Scope.addFinalizerExit(scope, () => list.close()), () => {
      if (list.closed) return f(list, fiber)
      const other = this.listOf(scope)
      if (other !== undefined) return f(other, fiber)
      this.#remember(list)
      return f(list, fiber)
    })
  }

  forget(list: LeaseList): void {
    if (this.#recentList === list) this.#recentList = undefined
    else if (this.#lists.size > 0 && this.#lists.get(list.scope) === list) this.#lists.delete(list.scope)
  }

  /** One list stands aside, so that short scopes in a row never touch the map. */
  #remember(list: LeaseList): void {
    const recent = this.#recentList
    this.#recentList = list
    if (recent !== undefined) this.#lists.set(recent.scope, recent)
    if (this.#lists.size > 0) this.#lists.delete(list.scope)
  }

  #openLists(): ReadonlyArray<LeaseList> {
    const recent = this.#recentList
    return [this.loans, ...(recent === undefined ? [] : [recent]), ...this.#lists.values()]
  }

  #releaseFailed(exit: Exit.Exit<void, GpuError>): Effect.Effect<void> {
    this.core.releaseFailures += 1
    return Effect.catch(
      exit,
      (error) => Effect.logWarning(`A block of the buffer pool could not be given back: ${error.message}`)
    )
  }
}
