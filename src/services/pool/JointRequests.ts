/**
 * What a pool does with several requests together: reservations, exclusive sections, and leases that a program gets all or none of. Each
 * budget and each reservation has an instance of its own, on the memory of its pool.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type { Budget } from "../../domain/pool/machine/Budget.ts"
import { sectionsOf } from "../../domain/pool/machine/ExclusiveSections.ts"
import { type Account, unavailable } from "../../domain/pool/machine/Request.ts"
import { Reservation } from "../../domain/pool/machine/Reservation.ts"
import type { RequestOptions } from "../../domain/pool/PoolOptions.ts"
import type { Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseList } from "../lease/LeaseTable.ts"
import { CurrentReservations, CurrentSection } from "./CurrentReservations.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import { LeaseRequest } from "./LeaseRequest.ts"
import type { AnyFiber } from "./Operation.ts"
import { PoolRequests, type Terms, type Want } from "./PoolRequests.ts"
import { endingOf, perform, run } from "./RequestRun.ts"

/** How many leases of an `allocateAll` may be hits in one step. For more, their bytes are reserved first. */
const mostHitTogether = 16

export class JointRequests<W, V extends Leasable, L extends Lease<V>> extends PoolRequests<W, V, L> {
  /** Requests of the same pool under other terms: those of a budget or of a reservation. */
  under(terms: Partial<Terms>, budget: Budget | undefined = this.budget): JointRequests<W, V, L> {
    return new JointRequests(this.pool, this.source, { ...this.terms, ...terms }, budget)
  }

  /** Runs `f` with the requests of a reservation, as soon as so many bytes are reserved. */
  reserve<A, E, R>(
    bytes: number,
    f: (requests: JointRequests<W, V, L>) => Effect.Effect<A, E, R>,
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
      const requests = new JointRequests(pool, source, { ...terms, from }, budget)
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
      const asks = this.#reservationOf(owner, fiber, options)
      const request = this.#reservation(operation, asks, fiber, bytes, options)
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
      const asks = this.#reservationOf(this.source, fiber, {}, fiber.getRef(CurrentSection))
      const sections = sectionsOf(this.pool.machine)
      const request = this.#reservation(`${this.source.service}.exclusively`, asks, fiber, 0, {}, [sections])
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

  /** Adds each lease to `granted` in the step that grants it; `list` owns it. */
  #acquireAll(
    list: LeaseList,
    fiber: AnyFiber,
    wants: ReadonlyArray<Want<W>>,
    options: RequestOptions | undefined,
    granted: Array<L>
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const label = options?.label ?? this.label
    let bytes = 0
    for (const { label: own = label, size, wanted } of wants) {
      const problem = this.problem(fiber, { size, wanted, options }, own)
      if (problem !== undefined) return problem
      bytes += this.source.exactSize(size)
    }
    if (!this.#areHeld(wants, options)) {
      return this.#reserveAll(list, fiber, wants, { ...options, label }, bytes, granted)
    }
    // Several hits, in one step.
    const where = `${this.source.service}.allocateAll`
    const waitPolicy = this.waitPolicyOf(where, options)
    if (isGpuError(waitPolicy)) return waitPolicy
    if (list.closed) return this.scopeClosed(where, wants[0]!.size, label)
    for (const { label: own = label, size, wanted } of wants) {
      const hit = this.hit(list, { size, wanted, options }, own)!
      if (list.scope === undefined) hit.borrowerId = fiber.id
      granted.push(hit)
    }
    return Exit.succeed(granted)
  }

  /** Reserves the bytes of all leases before it acquires the first. */
  #reserveAll(
    list: LeaseList,
    fiber: AnyFiber,
    wants: ReadonlyArray<Want<W>>,
    options: RequestOptions,
    bytes: number,
    granted: Array<L>
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const { label } = options
    const asks = this.#reservationOf(this.source, fiber, options)
    const request = this.#reservation(`${this.source.service}.allocateAll`, asks, fiber, bytes, options)
    if (!(request instanceof LeaseRequest)) return request
    const requests = this.under({
      from: asks,
      waitPolicy: { onExhausted: "fail", waitAtMost: Infinity, isPart: true },
      collect: granted
    })
    const attempt = Effect.suspend(() =>
      Effect.forEach(
        wants,
        // Each follows the terms of the request for all.
        (want) =>
          requests.acquire(list, fiber, {
            ...want,
            options: { ...options, onExhausted: undefined, waitAtMost: undefined }
          }, want.label ?? label),
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
        yield* perform(pool, request, pool.inputs.retryAll(request, state.epoch), () => Exit.void)
      }
    }
  )

  /** Ends the leases that were not transferred meanwhile. */
  #endAll(leases: Array<L>, list: LeaseList): void {
    for (const lease of leases.splice(0)) if (lease.list === list) this.pool.endUnsafe(lease, "released")
  }

  #reservationOf(
    owner: object,
    fiber: AnyFiber,
    { label = this.label }: RequestOptions,
    parent: Reservation | undefined = this.fromOf(fiber)
  ): Reservation {
    const { budget, pool } = this
    return new Reservation({
      owner,
      memory: pool.machine.state,
      parent,
      budgets: budget?.chain ?? none,
      label,
      fiberId: fiber.id,
      sequence: this.leases.order.granted
    })
  }

  /** A request that asks for a reservation, or for an exclusive section. */
  #reservation(
    operation: string,
    asks: Reservation,
    fiber: AnyFiber,
    bytes: number,
    options: RequestOptions,
    accounts: ReadonlyArray<Account> = [...this.budget?.chain ?? none, this.pool.machine.memory]
  ): LeaseRequest<undefined> | Effect.Effect<never, GpuError> {
    const { budget, pool, source } = this
    if (source.closed) return unavailable({ source, operation, size: bytes, label: options.label }, "poolClosed")
    if (pool.status.error !== undefined) return pool.status.error
    const waitPolicy = this.waitPolicyOf(operation, options)
    if (isGpuError(waitPolicy)) return waitPolicy
    const request = new LeaseRequest<undefined>({
      source,
      operation,
      asks,
      size: bytes,
      exactSize: bytes,
      blockSize: bytes,
      partSize: Infinity,
      family: "",
      wanted: undefined,
      label: asks.label,
      callSite: options.callSite,
      owner: this.leases.loans,
      maker: fiber,
      section: this.sectionOf(fiber),
      waitPolicy,
      budget,
      accounts,
      from: this.fromOf(fiber),
      collect: undefined
    })
    return this.neverFits(request) ?? request
  }

  /** Whether there is a held block for each of a few requests, so that none is taken in vain. */
  #areHeld(wants: ReadonlyArray<Want<W>>, options: RequestOptions | undefined): boolean {
    const { pool, source } = this
    if (wants.length === 0 || wants.length > mostHitTogether || !this.mayHit || this.apartOf(options)) return false
    const bins = wants.map(({ size, wanted }) => {
      const family = source.family(wanted)
      return { blockSize: size === 0 ? 0 : source.blockSize(size, family), family }
    })
    // All of them together may have as much padding as the next request alone.
    const padding = bins.reduce((sum, { blockSize }, index) => sum + blockSize - wants[index]!.size, 0)
    if (source.borrows && padding > pool.core.nextPadding) return false
    return bins.every(({ blockSize, family }, index) => {
      let blocks = 1
      for (let before = 0; before < index; before++) {
        if (bins[before]!.blockSize === blockSize && bins[before]!.family === family) blocks++
      }
      return blockSize === 0 || pool.core.holds(family, blockSize, blocks)
    })
  }
}

const none: ReadonlyArray<never> = []
