/**
 * The leases of one scope and one pool, under one finalizer. Leases come and go in constant time and leave nothing
 * behind, however long the scope lives. Every live lease is in exactly one list.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { Released } from "../../domain/GpuError.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import type { LeasePool } from "./LeasePool.ts"
import type { Waiter, WaitLine } from "./WaitLine.ts"

/** @internal */
export class LeaseList {
  /** The scope that owns the leases; none for the loans of `use`. */
  readonly scope: Scope.Scope | undefined
  readonly pool: LeasePool
  /** The fiber that acquired the first lease of the scope. */
  readonly fiberId: number
  closed = false
  /** The request that last began to wait for a lease of it, chained to the others through `previousOfList`. */
  lastWaiter: Waiter | undefined = undefined
  /** The lease that came last, chained to the others through `previousInList`. */
  last: PooledBuffer | undefined = undefined

  constructor(pool: LeasePool, scope: Scope.Scope | undefined, fiberId: number) {
    this.pool = pool
    this.scope = scope
    this.fiberId = fiberId
  }

  add(lease: PooledBuffer): void {
    lease.list = this
    lease.previousInList = this.last
    if (this.last !== undefined) this.last.nextInList = lease
    this.last = lease
  }

  remove(lease: PooledBuffer): void {
    const { nextInList: next, previousInList: previous } = lease
    if (next === undefined) this.last = previous
    else next.previousInList = previous
    if (previous !== undefined) previous.nextInList = next
    lease.list = undefined
    lease.previousInList = undefined
    lease.nextInList = undefined
  }

  /** The scope's finalizer. */
  close(): Effect.Effect<void> {
    this.closed = true
    this.pool.forget(this)
    if (this.lastWaiter === undefined) return this.endAll("scopeClosed")
    const lines = this.#endWaiters()
    const ended = this.endAll("scopeClosed")
    // One that left its line may be busy with handlers for a while, and nobody else says that it is gone.
    for (const line of lines) line.serve()
    return ended
  }

  addWaiter(waiter: Waiter): void {
    waiter.previousOfList = this.lastWaiter
    if (this.lastWaiter !== undefined) this.lastWaiter.nextOfList = waiter
    this.lastWaiter = waiter
  }

  removeWaiter(waiter: Waiter): void {
    const { nextOfList: next, previousOfList: previous } = waiter
    if (next === undefined) this.lastWaiter = previous
    else next.previousOfList = previous
    if (previous !== undefined) previous.nextOfList = next
    waiter.previousOfList = undefined
    waiter.nextOfList = undefined
  }

  /** The scope is closed: nobody needs to wait for a lease in it. The lines in which somebody did. */
  #endWaiters(): ReadonlySet<WaitLine> {
    const lines = new Set<WaitLine>()
    for (let waiter = this.lastWaiter; waiter !== undefined; waiter = this.lastWaiter) {
      lines.add(waiter.line)
      waiter.line.endWaiter(waiter)
    }
    return lines
  }

  /** Ends the leases, the last one first. */
  endAll(why: Released["why"]): Effect.Effect<void> {
    let failures: Array<Effect.Effect<void>> | undefined
    while (this.last !== undefined) {
      const failed = this.pool.endUnsafe(this.last, why)
      if (failed !== undefined) (failures ??= []).push(failed)
    }
    return failures === undefined ? Exit.void : Effect.all(failures, { discard: true })
  }
}
