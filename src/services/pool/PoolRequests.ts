/**
 * The requests of a pool, one at a time: it checks what a program asks for and what it is made under (a budget, a reservation, an exclusive
 * section), serves a hit in one step, and gives the others to the machine. `JointRequests` adds what a program asks for together.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Label from "../../domain/arguments/Label.ts"
import { place } from "../../domain/ErrorStack.ts"
import { type GpuError, isGpuError, unsupported } from "../../domain/GpuError.ts"
import type { Budget } from "../../domain/pool/machine/Budget.ts"
import { LeaseCharge } from "../../domain/pool/machine/Charge.ts"
import { type Account, nextNumber, unavailable, type WaitPolicy } from "../../domain/pool/machine/Request.ts"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import { type ExhaustedOptions, type RequestOptions, waitPolicyOf } from "../../domain/pool/PoolOptions.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import type { Block, Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseList, LeaseTable } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { CurrentReservations, CurrentSection } from "./CurrentReservations.ts"
import type { Publisher } from "./EventHub.ts"
import { LeaseRequest } from "./LeaseRequest.ts"
import type { AnyFiber } from "./Operation.ts"
import type { PoolRuntime } from "./PoolRuntime.ts"
import { endingOf, refuse, run } from "./RequestRun.ts"

/** The terms of all requests of one pool, budget or reservation. */
export interface Terms {
  /** The reservation that they draw from. */
  readonly from: Reservation | undefined
  /** The defaults of requests. */
  readonly waitPolicy: WaitPolicy
  /** What leases without a label of their own are called. */
  readonly label: string | undefined
  /** The list that every granted lease is added to, in the step that grants it. */
  readonly collect?: Array<Lease> | undefined
}

/** What a program asks for: the bytes, and what its source needs besides. */
export interface Want<W> {
  readonly size: number
  readonly wanted: W
  /** What the lease is called, if not what the others of its call are. */
  readonly label?: string | undefined
}

/** One call for a lease. */
interface Call<W> extends Want<W> {
  readonly options: RequestOptions | undefined
}

export class PoolRequests<W, V extends Leasable, L extends Lease<V>> {
  readonly pool: PoolRuntime
  readonly source: PoolSource<W, V, L>
  readonly terms: Terms
  readonly label: string | undefined
  readonly budget: Budget | undefined
  protected readonly leases: LeaseTable
  protected readonly allocating: string
  /** Whether a hit needs nothing else: no budget, no reservation and no clearing. */
  private readonly isPlain: boolean
  private readonly largest: number

  constructor(pool: PoolRuntime, source: PoolSource<W, V, L>, terms: Terms, budget: Budget | undefined) {
    this.pool = pool
    this.source = source
    this.terms = terms
    this.label = terms.label
    this.budget = budget
    this.leases = pool.leases
    this.allocating = `${source.service}.allocate`
    this.isPlain = budget === undefined && terms.from === undefined && !source.clears
    this.largest = source.largest
  }

  /**
   * The accounts for which handlers are registered. One of several pools on a memory may lack room under its own limit, and in the
   * memory.
   */
  get accounts(): ReadonlyArray<Account> {
    const { budget, pool: { machine: { memory } } } = this
    if (budget === undefined) return [memory]
    return budget.owner.kind === "pool" ? [budget, memory] : [budget]
  }

  /** Whether a held block can be leased in one step: the terms and the state of the memory allow it. */
  protected get mayHit(): boolean {
    return this.isPlain && this.pool.machine.mayHit
  }

  allocate(
    size: number,
    wanted: W,
    options: RequestOptions | undefined
  ): Effect.Effect<L, GpuError, Scope.Scope> {
    return new Allocation(this, size, wanted, options)
  }

  /** What an {@link Allocation} does in its step. */
  acquireIn(fiber: AnyFiber, call: Call<W>): Effect.Effect<L, GpuError> {
    const label = call.options?.label ?? this.label
    const problem = this.problem(fiber, call, label)
    if (problem !== undefined) return problem
    const list = this.leases.listOf(Context.getUnsafe(fiber.context, Scope.Scope), fiber.id, false)
    return this.acquire(list, fiber, call, label)
  }

  use<A, E, R>(
    size: number,
    wanted: W,
    f: (lease: L) => Effect.Effect<A, E, R>,
    options: RequestOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    return new Use(this, size, wanted, f, options)
  }

  /** What a {@link Use} does in its first step. */
  lend<A, E, R>(fiber: AnyFiber, use: Use<W, V, L, A, E, R>): Effect.Effect<A, E | GpuError, R> {
    const label = use.options?.label ?? this.label
    const problem = this.problem(fiber, use, label)
    if (problem !== undefined) return problem
    const loan = new Loan(use, label)
    // The loan takes the block after the finalizer is on the fiber's stack, so no interruption can lose it.
    return Effect.onExitPrimitive(loan, (exit) => {
      this.#endLoan(loan, exit)
      return undefined
    })
  }

  /** What a {@link Loan} does in its step. */
  takeLoan<A, E, R>(fiber: AnyFiber, loan: Loan<W, V, L, A, E, R>): Effect.Effect<A, E | GpuError, R> {
    const { label, use } = loan
    const hit = this.hit(this.leases.loans, use, label)
    if (hit !== undefined) {
      loan.hit = hit
      hit.borrowerId = fiber.id
      return use.f(hit)
    }
    const request = this.request(this.leases.loans, fiber, use, label)
    if (!(request instanceof LeaseRequest)) return request
    loan.request = request
    return run(this.pool, request, use.f)
  }

  protected acquire(
    list: LeaseList,
    fiber: AnyFiber,
    call: Call<W>,
    label: string | undefined
  ): Effect.Effect<L, GpuError> {
    if (list.closed) return this.scopeClosed(this.allocating, call.size, label)
    const hit = this.hit(list, call, label)
    if (hit !== undefined) return Exit.succeed(hit)
    list.isKept = true
    const request = this.request(list, fiber, call, label)
    return request instanceof LeaseRequest ? this.#lease(request) : request
  }

  protected scopeClosed(operation: string, size: number, label: string | undefined): GpuError {
    return unavailable({ source: this.source, operation, size, label }, "scopeClosed")
  }

  /** A whole hit, in one step, which makes only the lease. Pools that clear, and budgets, need a request object. */
  protected hit(list: LeaseList, call: Call<W>, label: string | undefined): L | undefined {
    const { options, size, wanted } = call
    if (size === 0) return this.#empty(list, call, label)
    const { pool, pool: { machine }, source } = this
    if (!this.mayHit || this.apartOf(options)) return undefined
    const family = source.family(wanted)
    const blockSize = machine.hitSize(source, size, family)
    const block = machine.tryHit(source, family, size, blockSize)
    if (block === undefined) return undefined
    // The blocks of a source's families are its own.
    const lease = this.leases.grant(source, list, block as Block<V>, size, wanted, label)
    CallSite.note(lease, options?.callSite)
    const events = pool.leaseEvents
    if (events !== undefined) {
      this.#tellHit(events, lease, block.capacity === blockSize || source.partSize(size, family) < Infinity, options)
    }
    return lease
  }

  /** The allocations that the memory should be apart from, which is for the machine to find. */
  protected apartOf(options: RequestOptions | undefined): ReadonlyArray<object> | GpuError | undefined {
    return options && this.source.apartOf?.(this.allocating, options)
  }

  #tellHit(events: Publisher, lease: L, isOwn: boolean, options: RequestOptions | undefined): void {
    const given = this.waitPolicyOf(this.allocating, options)
    const waitPolicy = isGpuError(given) ? this.terms.waitPolicy : given
    events.hit(nextNumber(), lease, isOwn ? "held" : "borrowed", this.source, waitPolicy)
  }

  #empty(list: LeaseList, { options, wanted }: Call<W>, label: string | undefined): L {
    const lease = this.leases.grant(this.source, list, undefined, 0, wanted, label)
    CallSite.note(lease, options?.callSite)
    if (this.budget !== undefined) lease.account = new LeaseCharge(this.budget, undefined, 0)
    this.terms.collect?.push(lease)
    return lease
  }

  /** Leases by the machine. If `hit` did not look, a held block mostly fits all the same, and `askOnce` is enough. */
  #lease(request: LeaseRequest<L>): Effect.Effect<L, GpuError> {
    const { pool, pool: { inputs } } = this
    if ((request.apart || !this.mayHit) && inputs.askOnce(request)) {
      return request.failure?.() ?? Exit.succeed(request.granted!)
    }
    return Effect.onExitPrimitive(
      Effect.suspend(() => run(pool, request, Exit.succeed<L>)),
      (exit) => {
        pool.inputs.ended(request, endingOf(exit))
        return undefined
      }
    )
  }

  #endLoan(
    { hit, request }: { readonly hit: Lease | undefined; readonly request: LeaseRequest | undefined },
    exit: Exit.Exit<unknown, unknown>
  ): void {
    const lease = request === undefined ? hit : request.granted
    // A lease that was transferred meanwhile stays.
    if (lease !== undefined && lease.list === this.leases.loans) this.pool.endUnsafe(lease, "scopeClosed")
    if (request !== undefined) this.pool.inputs.ended(request, endingOf(exit))
  }

  /** Kept short for valid requests, which are nearly all. */
  protected problem(
    fiber: AnyFiber,
    call: Call<W>,
    label: string | undefined
  ): Effect.Effect<never, GpuError> | undefined {
    const { size } = call
    return !this.source.closed && this.pool.status.error === undefined &&
        Number.isInteger(size) && size >= 0 && this.mayFit(size) &&
        this.source.isUsual(call.wanted) && Label.isLabel(label)
      ? undefined
      : this.reason(fiber, call, label)
  }

  private reason(
    fiber: AnyFiber,
    call: Call<W>,
    label: string | undefined
  ): Effect.Effect<never, GpuError> | undefined {
    const { pool, source } = this
    const { options, size, wanted } = call
    const operation = this.allocating
    if (!source.closed && pool.status.error !== undefined) return pool.status.error
    const problem = source.closed
      ? unavailable({ source, operation, size, label }, "poolClosed")
      : source.problem(operation, size, wanted, label)
    if (problem !== undefined) return place(problem, operation, options?.callSite)
    if (this.mayFit(size)) return undefined
    const request = this.request(this.leases.loans, fiber, call, label)
    return request instanceof LeaseRequest ? undefined : request
  }

  private mayFit(bytes: number): boolean {
    return bytes <= this.largest && bytes <= this.pool.core.maxBytes
  }

  protected request(
    list: LeaseList,
    fiber: AnyFiber,
    { options, size, wanted }: Call<W>,
    label: string | undefined
  ): LeaseRequest<L> | Effect.Effect<never, GpuError> {
    const { budget, source, terms: { collect } } = this
    const operation = this.allocating
    const waitPolicy = this.waitPolicyOf(operation, options)
    if (isGpuError(waitPolicy)) return waitPolicy
    const apart = this.apartOf(options)
    if (isGpuError(apart)) return apart
    const exactSize = source.exactSize(size)
    const family = source.family(wanted)
    const blockSize = source.blockSize(size, family)
    const partSize = source.partSize(size, family)
    const request = new LeaseRequest<L>({
      source,
      operation,
      asks: undefined,
      size,
      exactSize,
      // A budget is charged with the part of a slab.
      blockSize: budget === undefined || partSize < Infinity ? blockSize : budget.blockSize(blockSize, exactSize),
      partSize,
      family,
      wanted,
      label,
      callSite: options?.callSite,
      owner: list,
      maker: fiber,
      section: this.sectionOf(fiber),
      waitPolicy,
      budget,
      accounts: budget?.chain ?? none,
      from: this.fromOf(fiber),
      apart,
      collect
    })
    return this.neverFits(request) ?? request
  }

  /** What a request does when nothing fits; or InvalidRequest for invalid options. */
  protected waitPolicyOf(where: string, options: ExhaustedOptions | undefined): WaitPolicy | GpuError {
    const { waitPolicy: without } = this.terms
    if (options?.onExhausted === undefined && options?.waitAtMost === undefined) return without
    const waitPolicy = waitPolicyOf(where, options, without)
    return isGpuError(waitPolicy) || waitPolicy.onExhausted === "fail" || this.pool.waits !== undefined
      ? waitPolicy
      : notInSmallPools(where, "a request that waits")
  }

  /** LimitExceeded for a request that can never fit. */
  protected neverFits(request: LeaseRequest): Effect.Effect<never, GpuError> | undefined {
    const { exactSize, operation } = request
    const mayFit = this.mayFit(exactSize) && this.budget?.limitProblem(operation, exactSize) === undefined
    const problem = mayFit ? undefined : this.pool.inputs.tooLarge(request)
    return problem === undefined ? undefined : refuse(this.pool, request, problem)
  }

  /**
   * The reservation that a fiber's requests draw from: the innermost one around it that is of the whole memory or of this pool; or of
   * another pool on the memory, if these requests have none of their own.
   */
  protected fromOf(fiber: AnyFiber): Reservation | undefined {
    const { pool: { machine: { state } }, terms: { from } } = this
    if (state.reservations.size === 0) return from
    for (let next = Context.get(fiber.context, CurrentReservations); next !== undefined; next = next.outer) {
      if (next.inner.isOf(state) && this.mayDrawFrom(next.inner)) return next.inner
    }
    return from
  }

  private mayDrawFrom(one: Reservation): boolean {
    const { pool, source, terms: { from } } = this
    return one === from || one.owner === pool || (from === undefined && one.owner !== source)
  }

  protected sectionOf(fiber: AnyFiber): Reservation | undefined {
    const { state } = this.pool.machine
    if (state.reservations.size === 0) return undefined
    let section = Context.get(fiber.context, CurrentSection)
    while (section !== undefined && !section.isOf(state)) section = section.parent
    return section
  }
}

/**
 * The effect of `allocate`, as one object: an effect that closes over its arguments would be three. A service's accessor makes one for
 * each call.
 */
class Allocation<W, V extends Leasable, L extends Lease<V>> extends Effectable.Class<L, GpuError, Scope.Scope> {
  declare readonly requests: PoolRequests<W, V, L>
  declare readonly size: number
  declare readonly wanted: W
  declare readonly options: RequestOptions | undefined

  constructor(requests: PoolRequests<W, V, L>, size: number, wanted: W, options: RequestOptions | undefined) {
    super()
    this.requests = requests
    this.size = size
    this.wanted = wanted
    this.options = options
  }

  asEffect(): Effect.Effect<L, GpuError> {
    return this.requests.acquireIn(Fiber.getCurrent()!, this)
  }
}

/** The same of `use`. */
class Use<W, V extends Leasable, L extends Lease<V>, A, E, R> extends Effectable.Class<A, E | GpuError, R> {
  declare readonly requests: PoolRequests<W, V, L>
  declare readonly size: number
  declare readonly wanted: W
  declare readonly f: (lease: L) => Effect.Effect<A, E, R>
  declare readonly options: RequestOptions | undefined

  constructor(
    requests: PoolRequests<W, V, L>,
    size: number,
    wanted: W,
    f: (lease: L) => Effect.Effect<A, E, R>,
    options: RequestOptions | undefined
  ) {
    super()
    this.requests = requests
    this.size = size
    this.wanted = wanted
    this.f = f
    this.options = options
  }

  asEffect(): Effect.Effect<A, E | GpuError, R> {
    return this.requests.lend(Fiber.getCurrent()!, this)
  }
}

/** One run of a {@link Use}. */
class Loan<W, V extends Leasable, L extends Lease<V>, A, E, R> extends Effectable.Class<A, E | GpuError, R> {
  declare readonly use: Use<W, V, L, A, E, R>
  declare readonly label: string | undefined
  declare hit: L | undefined
  declare request: LeaseRequest<L> | undefined

  constructor(use: Use<W, V, L, A, E, R>, label: string | undefined) {
    super()
    this.use = use
    this.label = label
    this.hit = undefined
    this.request = undefined
  }

  asEffect(): Effect.Effect<A, E | GpuError, R> {
    return this.use.requests.takeLoan(Fiber.getCurrent()!, this)
  }
}

const none: ReadonlyArray<never> = []

/** The error of what only larger pools have. */
export const notInSmallPools = (operation: string, feature: string): GpuError =>
  unsupported(operation, "a small pool", feature, "Open the pool by BufferPool.layer.")
