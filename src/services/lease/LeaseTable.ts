/**
 * Which scope owns which lease. Every change here is one synchronous step, so no interruption can come in between.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Holder, Released } from "../../domain/GpuError.ts"
import { holderGroups } from "../../domain/pool/HolderSums.ts"
import { Largest } from "../../domain/pool/Largest.ts"
import type { Evidence } from "../../domain/pool/machine/PoolState.ts"
import type { Queue, Request, RequestOwner } from "../../domain/pool/machine/Request.ts"
import type { ChargedBudget } from "../../domain/pool/machine/Reservation.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import type { Block, Leasable, Lease, LeaseOwner, OwningList } from "./Lease.ts"
import type { PoolSource } from "./PoolSource.ts"

const noQueues: ReadonlyArray<Queue> = []

/**
 * The leases of one scope, under one finalizer. Leases come and go in constant time and leave nothing behind, however long
 * the scope lives. Every live lease is in exactly one list.
 *
 * @category models
 * @since 0.1.0
 */
export class LeaseList implements OwningList, RequestOwner {
  readonly owner: LeaseOwner
  scope: Scope.Scope | undefined = undefined
  fiberId = 0
  closed = false
  /** Whether something may refer to it after the step that got it: then it is not reused for another scope. */
  isKept = false
  /** The lease that was granted last, chained to the others through `previousInList`. */
  last: Lease | undefined = undefined
  /** The requests for its leases that wait, once there was one. */
  #awaiting: Set<Request> | undefined = undefined
  readonly #table: LeaseTable
  /** The state of a scope whose only finalizer is this list's. */
  #state: Scope.State.Open

  constructor(table: LeaseTable) {
    this.#table = table
    this.owner = table.owner
    this.#state = this.#onlyFinalizer()
  }

  /**
   * Begins to own the leases of a scope, and to end with it; it is closed if the scope is. It writes the scope's state itself, since
   * `Scope.addFinalizerExit` takes several steps, between which other fibers run.
   */
  open(scope: Scope.Scope, fiberId: number): void {
    this.scope = scope
    this.fiberId = fiberId
    // A scope with other finalizers gets a child scope.
    const own = scope.state._tag === "Empty" ? scope : Scope.forkUnsafe(scope)
    this.closed = own.state._tag === "Closed"
    if (!this.closed) own.state = this.#state
  }

  #onlyFinalizer(): Scope.State.Open {
    return { _tag: "Open", finalizerKey: this, finalizer: () => this.#close(), finalizers: undefined }
  }

  get hasLeases(): boolean {
    return this.scope !== undefined && this.last !== undefined
  }

  add(lease: Lease): void {
    lease.list = this
    lease.previousInList = this.last
    if (this.last !== undefined) this.last.nextInList = lease
    this.last = lease
  }

  remove(lease: Lease): void {
    const { nextInList: next, previousInList: previous } = lease
    if (next === undefined) this.last = previous
    else next.previousInList = previous
    if (previous !== undefined) previous.nextInList = next
    lease.list = undefined
    lease.previousInList = undefined
    lease.nextInList = undefined
  }

  listOf(scope: Scope.Scope, fiberId: number): LeaseList {
    return this.#table.listOf(scope, fiberId)
  }

  #close(): Effect.Effect<void> {
    this.closed = true
    this.#table.forget(this)
    const queues = this.#endAwaiting()
    this.endAll("scopeClosed")
    // Served here, since a request that left its queue may be busy with handlers, and serves the queue only when it ends.
    for (const queue of queues) this.owner.inputs.serve(queue)
    if (!this.isKept) {
      this.scope = undefined
      // If other finalizers were added to the scope, the state has them too.
      if (this.#state.finalizers !== undefined) this.#state = this.#onlyFinalizer()
      this.#table.spare = this
    }
    return Exit.void
  }

  addAwaiting(request: Request): void {
    this.#awaiting ??= new Set()
    this.#awaiting.add(request)
  }

  removeAwaiting(request: Request): void {
    this.#awaiting?.delete(request)
  }

  #endAwaiting(): Iterable<Queue> {
    if (this.#awaiting === undefined || this.#awaiting.size === 0) return noQueues
    const queues = new Set<Queue>()
    for (const request of Arr.reverse(this.#awaiting)) {
      queues.add(request.queue!)
      this.owner.inputs.scopeClosed(request)
    }
    return queues
  }

  /** Ends the leases for which `isMeant` holds, the last one first. */
  endAll(why: Released["why"], isMeant: (lease: Lease) => boolean = always): void {
    for (let lease = this.last; lease !== undefined;) {
      const { previousInList: previous } = lease
      if (isMeant(lease)) this.owner.endUnsafe(lease, why)
      // Its attachments, which ended with it, may have ended other leases of the list.
      lease = previous === undefined || previous.list === this ? previous : this.last
    }
  }
}

const always = (): boolean => true

/** How many holders and groups an out-of-memory error lists. */
const mostHolders = 3
const mostGroups = 5

/**
 * The leases of one memory, by the scopes that own them.
 *
 * @category models
 * @since 0.1.0
 */
export class LeaseTable {
  readonly owner: LeaseOwner
  /** The live leases of `use`. */
  readonly loans: LeaseList
  /** Counts the leases granted so far, for their ages. Memories under one limit share it. */
  order = { granted: 0 }
  /** The list used last: a program mostly stays in one scope for a while. */
  #recentList: LeaseList | undefined = undefined
  /**
   * A list whose scope has closed, for the next scope, so that a short scope makes no list, no finalizer and no state. No object of
   * the closed scope refers to it: V8 at times puts some of Effect's objects in the old generation, where each keeps alive what it
   * refers to until the next major collection.
   */
  spare: LeaseList | undefined = undefined
  /** The other lists, by scope. */
  readonly #lists = new Map<LeaseList["scope"], LeaseList>()
  /** The evidence computed last, for all leases and for each budget. */
  readonly #evidence = new WeakMap<
    object,
    { readonly granted: number; readonly gone: number; readonly evidence: Evidence }
  >()

  constructor(owner: LeaseOwner) {
    this.owner = owner
    this.loans = new LeaseList(this)
  }

  /** A lease on an active block, or a lease of 0 bytes without one. */
  grant<W, V extends Leasable, L extends Lease<V>>(
    source: PoolSource<W, V, L>,
    list: LeaseList,
    block: Block<V> | undefined,
    size: number,
    wanted: W,
    label: string | undefined
  ): L {
    // Mostly the same lease comes again: a comparison is cheaper than a write.
    if (block !== undefined && block.value.label !== label) block.value.label = label
    const lease = source.lease(block, size, wanted, label, this.order.granted++)
    list.add(lease)
    return lease
  }

  /** Ends all leases, or those for which `isMeant` holds. */
  endAll(why: Released["why"], isMeant?: (lease: Lease) => boolean): void {
    for (const list of this.#openLists()) list.endAll(why, isMeant)
  }

  /** The live leases, or those of them that are charged to a budget. */
  *live(budget?: ChargedBudget): Generator<Lease, void> {
    for (const list of this.#openLists()) {
      for (let lease = list.last; lease !== undefined; lease = lease.previousInList) {
        if (budget === undefined || lease.account?.budgets.includes(budget) === true) yield lease
      }
    }
  }

  /** The largest live leases, or those of them that are charged to a budget. */
  largestHolders(count: number, budget?: ChargedBudget): ReadonlyArray<Holder> {
    // A lease of 0 bytes has no memory.
    const largest = new Largest<Lease>(count, ({ size }) => size)
    for (const lease of this.live(budget)) largest.add(lease)
    return largest.sorted().map((lease) => {
      const { capacity, label, sequence, size } = lease
      const callSite = CallSite.of(lease)
      const holder = { label, size, capacity, age: this.order.granted - sequence - 1 }
      return callSite === undefined ? holder : { ...holder, callSite }
    })
  }

  /**
   * The holders and groups of an out-of-memory error. They are computed again only if leases were granted or ended since (`gone` counts
   * the ended ones), so that a program that tries again and again does not visit all its leases each time.
   */
  evidence(gone: number, budget?: ChargedBudget): Evidence {
    const { granted } = this.order
    const known = this.#evidence.get(budget ?? this)
    if (known !== undefined && known.granted === granted && known.gone === gone) return known.evidence
    const groups = holderGroups((add) => {
      for (const lease of this.live(budget)) if (lease.size > 0) add(lease.label, CallSite.of(lease), lease.size)
    }, mostGroups)
    const evidence = { holders: this.largestHolders(mostHolders, budget), holderGroups: groups }
    this.#evidence.set(budget ?? this, { granted, gone, evidence })
    return evidence
  }

  /**
   * The list of a scope; it is closed if the scope is. After the scope has closed, the list may be reused for another one, unless
   * `isKept`: pass false only if nothing refers to it after this step.
   */
  listOf(scope: Scope.Scope, fiberId: number, isKept = true): LeaseList {
    // A scope without finalizers has no list.
    const list = (scope.state._tag === "Empty" ? undefined : this.#known(scope)) ?? this.#open(scope, fiberId)
    if (isKept) list.isKept = true
    return list
  }

  #known(scope: Scope.Scope): LeaseList | undefined {
    const recent = this.#recentList
    if (recent !== undefined && recent.scope === scope) return recent
    // A look-up in an empty map would give the scope an identity hash, which would slow a hit.
    const list = this.#lists.size === 0 ? undefined : this.#lists.get(scope)
    if (list !== undefined) this.#remember(list)
    return list
  }

  #open(scope: Scope.Scope, fiberId: number): LeaseList {
    const list = this.spare ?? new LeaseList(this)
    this.spare = undefined
    list.open(scope, fiberId)
    if (!list.closed) this.#remember(list)
    return list
  }

  forget(list: LeaseList): void {
    if (this.#recentList === list) this.#recentList = undefined
    else if (this.#lists.size > 0 && this.#lists.get(list.scope) === list) this.#lists.delete(list.scope)
  }

  /** One list is kept outside the map, so that short scopes one after the other never use the map. */
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
}
