/**
 * Makes the requests of a pool: serves a hit in one step, and gives the others to the machine. Each budget and each reservation has an
 * instance of its own, on the memory of its pool.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type { Budget } from "../../domain/pool/machine/Budget.ts"
import { LeaseCharge } from "../../domain/pool/machine/Charge.ts"
import { nextNumber, unavailable, type WaitPolicy } from "../../domain/pool/machine/Request.ts"
import type { Reservation } from "../../domain/pool/machine/Reservation.ts"
import { type RequestOptions, waitPolicyOf } from "../../domain/pool/PoolOptions.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import type { Block, Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseList } from "../lease/LeaseTable.ts"
import { CurrentReservations, CurrentSection } from "./CurrentReservations.ts"
import type { Publisher } from "./EventHub.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import { LeaseRequest } from "./LeaseRequest.ts"
import { type AnyFiber, RequestMaker, type Terms, type Want } from "./RequestMaker.ts"
import { endingOf, retryAll, run } from "./RequestRun.ts"

/** Leases that a program gets all or none of. */
interface WantedTogether<W, L> {
  /** The list that will own them. */
  readonly list: LeaseList
  readonly fiber: AnyFiber
  readonly wants: ReadonlyArray<Want<W>>
  readonly label: string | undefined
  readonly options: RequestOptions | undefined
  /** Each lease is added in the step that grants it. */
  readonly granted: Array<L>
}

export class PoolRequests<W, V extends Leasable, L extends Lease<V>> extends RequestMaker<W, V, L> {
  /** Requests of the same pool under other terms: those of a budget or of a reservation. */
  under(terms: Partial<Terms>, budget: Budget | undefined = this.budget): PoolRequests<W, V, L> {
    return new PoolRequests(this.pool, this.source, { ...this.terms, ...terms }, budget)
  }

  allocate(
    size: number,
    wanted: W,
    options: RequestOptions | undefined
  ): Effect.Effect<L, GpuError, Scope.Scope> {
    return new Allocation(this, size, wanted, options)
  }

  /** What an {@link Allocation} does in its step. */
  acquireIn(
    fiber: AnyFiber,
    size: number,
    wanted: W,
    options: RequestOptions | undefined
  ): Effect.Effect<L, GpuError> {
    const label = options?.label ?? this.label
    const problem = this.problem(fiber, size, wanted, label, options)
    if (problem !== undefined) return problem
    const list = this.leases.listOf(Context.getUnsafe(fiber.context, Scope.Scope), fiber.id, false)
    return this.#acquire(list, fiber, size, wanted, label, options)
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
    const { options, size, wanted } = use
    const label = options?.label ?? this.label
    const problem = this.problem(fiber, size, wanted, label, options)
    if (problem !== undefined) return problem
    const loan = new Loan(this, use, label)
    // The loan takes the block after the finalizer is on the fiber's stack, so no interruption can lose it.
    return Effect.onExitPrimitive(loan, (exit) => {
      this.#endLoan(loan, exit)
      return undefined
    })
  }

  /** What a {@link Loan} does in its step. */
  takeLoan<A, E, R>(fiber: AnyFiber, loan: Loan<W, V, L, A, E, R>): Effect.Effect<A, E | GpuError, R> {
    const { label, use: { f, options, size, wanted } } = loan
    const hit = this.#hit(this.leases.loans, size, wanted, label, options)
    if (hit !== undefined) {
      loan.hit = hit
      hit.borrowerId = fiber.id
      return f(hit)
    }
    const request = this.request(this.leases.loans, fiber, size, wanted, label, options)
    if (!(request instanceof LeaseRequest)) return request
    loan.request = request
    return run(this.pool, request, f)
  }

  /** Runs `f` with the requests of a reservation, as soon as so many bytes are reserved. */
  reserve<A, E, R>(
    bytes: number,
    f: (requests: PoolRequests<W, V, L>) => Effect.Effect<A, E, R>,
    options: RequestOptions
  ): Effect.Effect<A, E | GpuError, R> {
    return this.#reserved(
      `${this.source.service}.reserve`,
      this.source,
      bytes,
      (asks) => f(this.under({ from: asks, label: asks.label })),
      { ...options, onExhausted: options.onExhausted ?? "wait" }
    )
  }

  /**
   * Runs an effect as soon as so many bytes are reserved, for requests to all pools on the memory. A reservation around it provides
   * them first; it is charged to one of these budgets or to none. The limits of the pools hold besides.
   */
  reserveForAll<A, E, R>(
    operation: string,
    bytes: number,
    budgets: ReadonlyArray<Budget>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.withFiber((fiber) => {
      const { pool, source, terms } = this
      const from = this.fromOf(fiber)
      const budget = budgets.find((one) => one === from?.budgets[0])
      const requests = new PoolRequests(pool, source, { ...terms, from }, budget)
      return requests.#reserved(operation, pool, bytes, () => effect, { onExhausted: "wait" })
    })
  }

  #reserved<A, E, R>(
    operation: string,
    owner: object,
    bytes: number,
    f: (asks: Reservation) => Effect.Effect<A, E, R>,
    options: RequestOptions
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.withFiber((fiber) => {
      const asks = this.reservationOf(owner, fiber, options)
      const request = this.reservation(operation, asks, fiber, bytes, options)
      if (!(request instanceof LeaseRequest)) return request
      const reservations = { inner: asks, outer: fiber.getRef(CurrentReservations) }
      return this.#whileOpen(request, () => Effect.provideService(f(asks), CurrentReservations, reservations))
    })
  }

  /** Runs an effect when no other exclusive section of the memory runs. Where requests do not wait, runs it at once. */
  exclusively<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | GpuError, R> {
    if (this.terms.waitPolicy.onExhausted === "fail") return effect
    return Effect.withFiber((fiber) => {
      const isCovered = this.fromOf(fiber)?.isOpen === true || this.sectionOf(fiber) !== undefined
      // A handler may work for a request of the running section.
      if (isCovered || isWithin(fiber.getRef(InHandler), this.pool)) return effect
      const asks = this.reservationOf(this.source, fiber, {}, fiber.getRef(CurrentSection))
      const { sections } = this.pool.machine
      const request = this.reservation(`${this.source.service}.exclusively`, asks, fiber, 0, {}, [sections])
      if (!(request instanceof LeaseRequest)) return request
      const section = Effect.provideService(effect, CurrentSection, asks)
      return this.#whileOpen(request, () => section)
    })
  }

  /** All leases or none, with one place in the queue. They belong to the caller's scope. */
  allocateAll(
    wants: ReadonlyArray<Want<W>>,
    options: RequestOptions | undefined
  ): Effect.Effect<ReadonlyArray<L>, GpuError, Scope.Scope> {
    return Effect.withFiber((fiber) => {
      const list = this.leases.listOf(Context.getUnsafe(fiber.context, Scope.Scope), fiber.id)
      return this.#acquireAll(list, fiber, wants, options, [])
    })
  }

  /** The same for leases that are lent to `f`. */
  useAll<A, E, R>(
    wants: ReadonlyArray<Want<W>>,
    f: (leases: ReadonlyArray<L>) => Effect.Effect<A, E, R>,
    options: RequestOptions | undefined
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.withFiber((fiber) => {
      const lent: Array<L> = []
      return Effect.onExitPrimitive(
        Effect.suspend(() => Effect.flatMap(this.#acquireAll(this.leases.loans, fiber, wants, options, lent), f)),
        () => {
          this.#endAll(lent, this.leases.loans)
          return undefined
        }
      )
    })
  }

  #acquire(
    list: LeaseList,
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<L, GpuError> {
    if (list.closed) return this.#scopeClosed(this.allocating, size, label)
    const hit = this.#hit(list, size, wanted, label, options)
    if (hit !== undefined) return Exit.succeed(hit)
    list.isKept = true
    const request = this.request(list, fiber, size, wanted, label, options)
    return request instanceof LeaseRequest ? this.#lease(request) : request
  }

  #scopeClosed(operation: string, size: number, label: string | undefined): GpuError {
    return unavailable({ source: this.source, operation, size, label }, "scopeClosed")
  }

  /** A whole hit, in one step, which makes only the lease. Pools that clear, and budgets, need a request object. */
  #hit(
    list: LeaseList,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): L | undefined {
    if (size === 0) return this.#empty(list, wanted, label, options)
    if (!this.mayHit) return undefined
    const { pool, pool: { machine }, source } = this
    const blockSize = machine.hitSize(source, size)
    const block = machine.tryHit(source, source.family(wanted), size, blockSize)
    if (block === undefined) return undefined
    // The blocks of a source's families are its own.
    const lease = this.leases.grant(source, list, block as Block<V>, size, wanted, label)
    CallSite.note(lease, options?.callSite)
    const events = pool.leaseEvents
    if (events !== undefined) this.#tellHit(events, lease, block.capacity === blockSize, options)
    return lease
  }

  #tellHit(events: Publisher, lease: L, isOwn: boolean, options: RequestOptions | undefined): void {
    const waitPolicy = options === undefined ? this.terms.waitPolicy : this.#waitPolicyOf(options)
    events.hit(nextNumber(), lease, isOwn ? "held" : "borrowed", this.source, waitPolicy)
  }

  /** The wait policy of a hit, which only subscribers need. */
  #waitPolicyOf(options: RequestOptions): WaitPolicy {
    const { waitPolicy: without } = this.terms
    if (options.onExhausted === undefined && options.waitAtMost === undefined) return without
    const waitPolicy = waitPolicyOf(this.allocating, options, without)
    return isGpuError(waitPolicy) ? without : waitPolicy
  }

  #empty(list: LeaseList, wanted: W, label: string | undefined, options: RequestOptions | undefined): L {
    const lease = this.leases.grant(this.source, list, undefined, 0, wanted, label)
    CallSite.note(lease, options?.callSite)
    if (this.budget !== undefined) lease.account = new LeaseCharge(this.budget, undefined, 0)
    this.terms.collect?.push(lease)
    return lease
  }

  #whileOpen<A, E, R>(
    request: LeaseRequest<undefined>,
    f: () => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, R> {
    const { pool } = this
    return Effect.onExitPrimitive(
      Effect.suspend(() => run(pool, request, f)),
      (exit) => {
        pool.inputs.reservationEnded(request, endingOf(exit))
        return undefined
      }
    )
  }

  #acquireAll(
    list: LeaseList,
    fiber: AnyFiber,
    wants: ReadonlyArray<Want<W>>,
    options: RequestOptions | undefined,
    granted: Array<L>
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const label = options?.label ?? this.label
    let bytes = 0
    for (const { size, wanted } of wants) {
      const problem = this.problem(fiber, size, wanted, label, options)
      if (problem !== undefined) return problem
      bytes += this.source.exactSize(size)
    }
    const together = { list, fiber, wants, label, options, granted }
    return this.areHeld(wants) ? this.#hitAll(together) : this.#reserveAll(together, bytes)
  }

  /** Several hits, in one step. */
  #hitAll(
    { fiber, granted, label, list, options, wants }: WantedTogether<W, L>
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const where = `${this.source.service}.allocateAll`
    const waitPolicy = this.waitPolicyOf(where, options)
    if (isGpuError(waitPolicy)) return waitPolicy
    if (list.closed) return this.#scopeClosed(where, wants[0]!.size, label)
    for (const { size, wanted } of wants) {
      const hit = this.#hit(list, size, wanted, label, options)!
      if (list.scope === undefined) hit.borrowerId = fiber.id
      granted.push(hit)
    }
    return Exit.succeed(granted)
  }

  /** Reserves the bytes of all leases before it acquires the first. */
  #reserveAll(
    { fiber, granted, label, list, options, wants }: WantedTogether<W, L>,
    bytes: number
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const asks = this.reservationOf(this.source, fiber, { label })
    const request = this.reservation(`${this.source.service}.allocateAll`, asks, fiber, bytes, { ...options, label })
    if (!(request instanceof LeaseRequest)) return request
    const requests = this.under({
      from: asks,
      waitPolicy: { onExhausted: "fail", waitAtMost: Infinity, isPart: true },
      collect: granted
    })
    const attempt = Effect.suspend(() =>
      Effect.forEach(
        wants,
        ({ size, wanted }) => requests.#acquire(list, fiber, size, wanted, label, { callSite: options?.callSite }),
        { discard: true }
      )
    )
    return Effect.onExitPrimitive(
      this.#whileOpen(request, () => Effect.as(this.#untilAll(request, attempt, granted, list), granted)),
      (exit) => {
        if (Exit.isFailure(exit)) this.#endAll(granted, list)
        return undefined
      }
    )
  }

  /** Acquires all leases. If the driver has no memory for one of them, ends the others before the request waits. */
  readonly #untilAll = Effect.fnUntraced(
    { self: this },
    function*(
      request: LeaseRequest,
      attempt: Effect.Effect<void, GpuError>,
      granted: Array<L>,
      list: LeaseList
    ): Effect.fn.Return<void, GpuError> {
      const { pool, pool: { core, machine: { memory, state } } } = this
      pool.inputs.begunAll(request)
      while (true) {
        const before = core.releases
        const elsewhere = pool.outer.epoch
        let given = 0
        const giveUp = (error: GpuError): Effect.Effect<GpuError> =>
          Effect.sync(() => {
            given = granted.filter(({ block }) => block !== undefined).length
            // Two such requests would otherwise wake each other for ever, each with the leases that it ends.
            pool.inputs.retracting(() => this.#endAll(granted, list))
            return error
          })
        const tried = Effect.matchEffect(attempt, { onFailure: giveUp, onSuccess: () => Effect.undefined })
        const error = yield* tried
        if (error === undefined) return
        if (
          error.reason._tag !== "OutOfMemory" ||
          (request.waitPolicy.onExhausted === "fail" && !memory.hasHandlers)
        ) {
          return yield* error
        }
        // Other fibers released memory meanwhile, which may be enough.
        if (core.releases - given > before || pool.outer.epoch !== elsewhere) continue
        yield* retryAll(pool, request, state.epoch)
      }
    }
  )

  /** Ends the leases that were not transferred meanwhile. */
  #endAll(leases: Array<L>, list: LeaseList): void {
    for (const lease of leases.splice(0)) if (lease.list === list) this.pool.endUnsafe(lease, "released")
  }

  /** Leases by the machine. If `#hit` did not look, a held block mostly fits all the same, and `askOnce` is enough. */
  #lease(request: LeaseRequest<L>): Effect.Effect<L, GpuError> {
    const { pool, pool: { inputs } } = this
    if (!this.mayHit && inputs.askOnce(request)) return request.failure?.() ?? Exit.succeed(request.granted!)
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
    return this.requests.acquireIn(Fiber.getCurrent()!, this.size, this.wanted, this.options)
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
  declare readonly requests: PoolRequests<W, V, L>
  declare readonly use: Use<W, V, L, A, E, R>
  declare readonly label: string | undefined
  declare hit: L | undefined
  declare request: LeaseRequest<L> | undefined

  constructor(requests: PoolRequests<W, V, L>, use: Use<W, V, L, A, E, R>, label: string | undefined) {
    super()
    this.requests = requests
    this.use = use
    this.label = label
    this.hit = undefined
    this.request = undefined
  }

  asEffect(): Effect.Effect<A, E | GpuError, R> {
    return this.requests.takeLoan(Fiber.getCurrent()!, this)
  }
}
