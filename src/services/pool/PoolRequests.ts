/**
 * The requests of a pool: it checks them, serves a hit in one step, and passes the others to `Leasing`. A budget has
 * requests of its own on the memory of its pool, and so has a reservation.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { functionProblem, membersOf } from "../../domain/arguments/ArgumentProblem.ts"
import type { KnownOptions } from "../../domain/arguments/KnownOptions.ts"
import * as Label from "../../domain/arguments/Label.ts"
import { place } from "../../domain/ErrorStack.ts"
import { type GpuError, isGpuError, type Rung } from "../../domain/GpuError.ts"
import * as CallSite from "../calls/CallSite.ts"
import type { Block, Leasable, Lease } from "../lease/Lease.ts"
import { type LeaseList, type LeaseTable, together } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import type { Blocks } from "./Blocks.ts"
import { searchRungs } from "./Ladder.ts"
import { LeaseAccount } from "./LeaseAccount.ts"
import * as Leasing from "./Leasing.ts"
import type { Memory } from "./Memory.ts"
import { type ExhaustedOptions, knownOfRequest, patienceOf, type RequestOptions } from "./PoolOptions.ts"
import type { Budget } from "./waiting/Budget.ts"
import { Charge } from "./waiting/Charge.ts"
import type { Emitter } from "./waiting/Emitter.ts"
import { InHandler, isWithin } from "./waiting/Handlers.ts"
import { CurrentTurn } from "./waiting/JobTurns.ts"
import type { LastResort } from "./waiting/LastResort.ts"
import {
  drawMore,
  goesFirst,
  LeaseRequest,
  nextNumber,
  type Patience,
  type Terms,
  unavailable,
  undraw
} from "./waiting/LeaseRequest.ts"
import { CurrentReservations, SetAside } from "./waiting/SetAside.ts"

/** More are looked at one by one, after their bytes are set aside. */
const mostHitTogether = 16

/** A source makes leases of one kind, and the pool hands out to its requests what it made for them. */
const asOf = <L extends Lease>(leased: Effect.Effect<Lease, GpuError>): Effect.Effect<L, GpuError> =>
  leased as Effect.Effect<L, GpuError>

type AnyFiber = Fiber.Fiber<unknown, unknown>

/** One of several leases that a program asks for together. */
export interface Want<W> {
  readonly size: number
  readonly wanted: W
}

/** Leases that a program gets all together or not at all. */
interface WantedTogether<W, L> {
  /** The list that will own them. */
  readonly list: LeaseList
  readonly fiber: AnyFiber
  readonly wants: ReadonlyArray<Want<W>>
  readonly label: string | undefined
  readonly options: RequestOptions | undefined
  /** Has each lease from the step on that grants it. */
  readonly granted: Array<L>
}

export class PoolRequests<W, V extends Leasable, L extends Lease<V>> {
  readonly memory: Memory
  readonly source: PoolSource<W, V, L>
  readonly terms: Terms
  readonly label: string | undefined
  readonly budget: Budget | undefined
  readonly #blocks: Blocks
  readonly #leases: LeaseTable
  readonly #allocating: string
  readonly #using: string
  /** Whether a hit needs nothing else: no budget, no reservation and no clearing. */
  readonly #isPlain: boolean
  readonly #largest: number

  constructor(memory: Memory, source: PoolSource<W, V, L>, terms: Omit<Terms, "budget">, budget: Budget | undefined) {
    this.memory = memory
    this.source = source
    this.terms = { ...terms, budget }
    this.label = terms.label
    this.budget = budget
    this.#blocks = memory.blocks
    this.#leases = memory.leases
    this.#allocating = `${source.service}.allocate`
    this.#using = `${source.service}.use`
    this.#isPlain = budget === undefined && terms.from === undefined && !source.clears
    this.#largest = source.largest
  }

  /** Of the budget, or of the pool. One of several on a memory runs out where its own limit ends, and where the memory does. */
  get lastResorts(): ReadonlyArray<LastResort> {
    const { budget, memory } = this
    if (budget === undefined) return [memory.lastResort]
    return budget.owner.kind === "pool" ? [budget.lastResort, memory.lastResort] : [budget.lastResort]
  }

  /** The same requests under other terms: those of a budget, or of a reservation. */
  under(terms: Partial<Terms>, budget: Budget | undefined = this.budget): PoolRequests<W, V, L> {
    return new PoolRequests(this.memory, this.source, { ...this.terms, ...terms }, budget)
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
    const problem = this.#problem(fiber, size, wanted, label, options)
    if (problem !== undefined) return problem
    const list = this.#leases.listOf(Context.getUnsafe(fiber.context, Scope.Scope), fiber.id, false)
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
    const { f, options, size, wanted } = use
    const label = options?.label ?? this.label
    const problem = functionProblem(this.#using, "f", f) ?? this.#problem(fiber, size, wanted, label, options)
    if (problem !== undefined) return problem
    const loan = new Loan(this, use, label)
    // The block is taken inside, after the finalizer is on the fiber's stack, so no interruption can lose it.
    return Effect.onExitPrimitive(loan, (exit) => this.#endLoan(loan, exit))
  }

  /** What a {@link Loan} does in its step. */
  takeLoan<A, E, R>(fiber: AnyFiber, loan: Loan<W, V, L, A, E, R>): Effect.Effect<A, E | GpuError, R> {
    const { label, use: { f, options, size, wanted } } = loan
    const hit = this.#hit(this.#leases.loans, size, wanted, label, options)
    if (hit !== undefined) {
      loan.hit = hit
      hit.borrowerId = fiber.id
      return f(hit)
    }
    const request = this.#request(this.#leases.loans, fiber, size, wanted, label, options)
    if (!(request instanceof LeaseRequest)) return request
    loan.request = request
    return Effect.flatMap(asOf<L>(Leasing.lease(this.memory, request, this.budget?.chain)), f)
  }

  /** Runs `f` with the requests of a reservation, as soon as so many bytes are set aside. */
  reserve<A, E, R>(
    bytes: number,
    f: (requests: PoolRequests<W, V, L>) => Effect.Effect<A, E, R>,
    options: RequestOptions
  ): Effect.Effect<A, E | GpuError, R> {
    return this.#reserved(
      this.#nameOf("reserve"),
      this.source,
      bytes,
      (asks) => f(this.under({ from: asks, label: asks.label })),
      { ...options, onExhausted: options.onExhausted ?? "wait" }
    )
  }

  /**
   * Runs an effect as soon as so many bytes are set aside for all pools on the memory. A reservation around it gives them, and is
   * charged to one of these budgets or to none; the limits of the pools hold besides.
   */
  reserveForAll<A, E, R>(
    operation: string,
    bytes: number,
    budgets: ReadonlyArray<Budget>,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.withFiber((fiber) => {
      const { memory, source, terms } = this
      const from = this.#fromOf(fiber)
      const budget = budgets.find((one) => one === from?.budgets[0])
      const requests = new PoolRequests(memory, source, { ...terms, from }, budget)
      return requests.#reserved(operation, memory, bytes, () => effect, { onExhausted: "wait" })
    })
  }

  #reserved<A, E, R>(
    operation: string,
    owner: object,
    bytes: number,
    f: (asks: SetAside) => Effect.Effect<A, E, R>,
    options: RequestOptions
  ): Effect.Effect<A, E | GpuError, R> {
    return Effect.withFiber((fiber) => {
      const request = this.#reservation(operation, owner, fiber, bytes, options)
      if (!(request instanceof LeaseRequest)) return request
      const { asks } = request
      const reservations = { inner: asks, outer: fiber.getRef(CurrentReservations) }
      return this.#whileOpen(
        request,
        this.#setAside(request),
        () => Effect.provideService(f(asks), CurrentReservations, reservations)
      )
    })
  }

  /** Runs an effect when no other effect of `inTurn` runs, if requests wait at all. */
  inTurn<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | GpuError, R> {
    if (this.terms.patience.onExhausted === "fail") return effect
    return Effect.withFiber((fiber) => {
      const isCovered = this.#fromOf(fiber)?.isOpen === true || this.#turnOf(fiber) !== undefined
      // A handler works for a request, maybe one of the job whose turn it is.
      if (isCovered || isWithin(fiber.getRef(InHandler), this.memory.lines)) return effect
      const request = this.#reservation(this.#nameOf("inTurn"), this.source, fiber, 0, {}, fiber.getRef(CurrentTurn))
      if (!(request instanceof LeaseRequest)) return request
      const turn = Effect.provideService(effect, CurrentTurn, request.asks)
      return this.#whileOpen(request, Leasing.awaitTurn(this.memory, request), () => turn)
    })
  }

  /** All leases or none, with one place in line. They belong to the caller's scope. */
  allocateAll(
    wants: ReadonlyArray<Want<W>>,
    options: RequestOptions | undefined
  ): Effect.Effect<ReadonlyArray<L>, GpuError, Scope.Scope> {
    return Effect.withFiber((fiber) => {
      const list = this.#leases.listOf(Context.getUnsafe(fiber.context, Scope.Scope), fiber.id)
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
        Effect.suspend(() => Effect.flatMap(this.#acquireAll(this.#leases.loans, fiber, wants, options, lent), f)),
        () => this.#endAll(lent, this.#leases.loans)
      )
    })
  }

  /** Options with their members as they are now, and where the request was made, while that is tracked. */
  read<O extends RequestOptions>(
    method: string,
    given: O | undefined,
    entry: CallSite.Entry,
    known: KnownOptions = knownOfRequest
  ): Partial<O> | CallSite.Located | GpuError | undefined {
    if (given === undefined) return CallSite.locate(given, entry)
    const read = membersOf(this.#nameOf(method), given, known)
    return isGpuError(read) ? read : CallSite.locate(read, entry)
  }

  #nameOf(method: string): string {
    return `${this.source.service}.${method}`
  }

  /** Kept short for valid requests, which are nearly all. */
  #problem(
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<never, GpuError> | undefined {
    const { memory } = this
    return !this.source.closed && memory.status.error === undefined &&
        Number.isInteger(size) && size >= 0 && this.#mayFit(size) &&
        this.source.isUsual(wanted) && Label.isLabel(label)
      ? undefined
      : this.#reason(fiber, size, wanted, label, options)
  }

  #reason(
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<never, GpuError> | undefined {
    const { memory, source } = this
    const operation = this.#allocating
    if (!source.closed && memory.status.error !== undefined) return memory.status.error
    const problem = source.closed
      ? unavailable({ source, operation, size, label }, "poolClosed")
      : source.problem(operation, size, wanted, label)
    if (problem !== undefined) return place(problem, operation, options?.callSite)
    if (this.#mayFit(size)) return undefined
    const request = this.#request(this.#leases.loans, fiber, size, wanted, label, options)
    return request instanceof LeaseRequest ? undefined : request
  }

  #mayFit(bytes: number): boolean {
    return bytes <= this.#largest && bytes <= this.memory.core.maxBytes
  }

  #acquire(
    list: LeaseList,
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<L, GpuError> {
    if (list.closed) return this.#scopeClosed(this.#allocating, size, label)
    const hit = this.#hit(list, size, wanted, label, options)
    if (hit !== undefined) return Exit.succeed(hit)
    list.isKept = true
    const request = this.#request(list, fiber, size, wanted, label, options)
    return request instanceof LeaseRequest ? asOf(this.#lease(request)) : request
  }

  #scopeClosed(operation: string, size: number, label: string | undefined): GpuError {
    return unavailable({ source: this.source, operation, size, label }, "scopeClosed")
  }

  /** The whole of a hit, in one step: nothing but the lease is made. Pools that clear and budgets go the longer way. */
  #hit(
    list: LeaseList,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): L | undefined {
    if (size === 0) return this.#empty(list, wanted, label, options)
    const { memory, source } = this
    if (!this.#isPlain || !memory.mayHit) return undefined
    const { core } = memory
    const padding = source.borrows ? core.nextPadding : Infinity
    let blockSize = source.blockSize(size)
    // Mostly so much is left that the exact size does not matter.
    if (blockSize - size > padding && blockSize > source.exactSize(size) + padding) blockSize = source.exactSize(size)
    const family = source.family(wanted)
    const block = core.acquireOwn(family, blockSize, size) ??
      core.borrow(family, blockSize, size, Math.min(source.mostBorrowed(blockSize), source.exactSize(size) + padding))
    if (block === undefined) return undefined
    // The blocks of a source's families are its own.
    const lease = this.#leases.grant(source, list, block as Block<V>, size, wanted, label)
    CallSite.note(lease, options?.callSite)
    const events = this.#blocks.leaseEvents
    if (events !== undefined) this.#tellHit(events, lease, block.capacity === blockSize, options)
    return lease
  }

  #tellHit(events: Emitter, lease: L, isOwn: boolean, options: RequestOptions | undefined): void {
    const patience = options === undefined ? this.terms.patience : this.#told(options)
    events.hit(nextNumber(), lease, isOwn ? "held" : "borrowed", this.source, patience)
  }

  /** What a hit would have done if nothing had fitted, which matters to nobody but those who listen. */
  #told(options: RequestOptions): Patience {
    const { patience: without } = this.terms
    if (options.onExhausted === undefined && options.waitAtMost === undefined) return without
    const patience = patienceOf(this.#allocating, options, without)
    return isGpuError(patience) ? without : patience
  }

  #empty(list: LeaseList, wanted: W, label: string | undefined, options: RequestOptions | undefined): L {
    const lease = this.#leases.grant(this.source, list, undefined, 0, wanted, label)
    CallSite.note(lease, options?.callSite)
    if (this.budget !== undefined) lease.account = new LeaseAccount(this.budget, undefined, 0)
    this.terms.collect?.push(lease)
    return lease
  }

  #request(
    list: LeaseList,
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): LeaseRequest<undefined> | Effect.Effect<never, GpuError> {
    const { budget, source } = this
    const exactSize = source.exactSize(size)
    const patience = this.#patienceOf(this.#allocating, options)
    if (isGpuError(patience)) return patience
    const blockSize = source.blockSize(size)
    const request = new LeaseRequest(
      source,
      this.#allocating,
      undefined,
      size,
      exactSize,
      budget === undefined ? blockSize : budget.blockSize(blockSize, exactSize),
      wanted,
      label,
      options?.callSite,
      list,
      fiber,
      this.#turnOf(fiber),
      patience,
      this.#termsOf(fiber),
      budget === undefined ? undefined : new Charge()
    )
    return this.#neverFits(request) ?? request
  }

  /** What a request does when nothing fits; or InvalidRequest for invalid options. */
  #patienceOf(where: string, options: ExhaustedOptions | undefined): Patience | GpuError {
    const { patience: without } = this.terms
    return options?.onExhausted === undefined && options?.waitAtMost === undefined
      ? without
      : patienceOf(where, options, without)
  }

  /** LimitExceeded for a request that can never fit. */
  #neverFits(request: LeaseRequest): Effect.Effect<never, GpuError> | undefined {
    const { exactSize, operation } = request
    const mayFit = this.#mayFit(exactSize) && this.budget?.limitProblem(operation, exactSize) === undefined
    const problem = mayFit ? undefined : this.memory.tooLarge(request)
    return problem === undefined ? undefined : this.memory.lines.refuse(request, problem)
  }

  /**
   * What a fiber's requests draw from: the innermost reservation around it, of the whole memory or of this pool; or of another pool
   * on the memory, where this one has none.
   */
  #fromOf(fiber: AnyFiber): SetAside | undefined {
    const { memory, source, terms: { from } } = this
    if (memory.reservations.size === 0) return from
    const isOwn = (one: SetAside): boolean =>
      one === from || one.owner === memory || (from === undefined && one.owner !== source)
    for (let next = Context.get(fiber.context, CurrentReservations); next !== undefined; next = next.outer) {
      if (next.inner.isOf(memory.core) && isOwn(next.inner)) return next.inner
    }
    return from
  }

  #termsOf(fiber: AnyFiber): Terms {
    const { terms } = this
    const from = this.#fromOf(fiber)
    return from === terms.from ? terms : { ...terms, from }
  }

  #turnOf(fiber: AnyFiber): SetAside | undefined {
    if (this.memory.reservations.size === 0) return undefined
    let turn = fiber.getRef(CurrentTurn)
    while (turn !== undefined && !turn.isOf(this.memory.core)) turn = turn.parent
    return turn
  }

  /** A request that asks for a reservation. */
  #reservation(
    where: string,
    owner: object,
    fiber: AnyFiber,
    bytes: number,
    options: RequestOptions,
    parent: SetAside | undefined = this.#fromOf(fiber)
  ): LeaseRequest<SetAside> | Effect.Effect<never, GpuError> {
    const { budget, memory, source } = this
    if (source.closed) return unavailable({ source, operation: where, size: bytes, label: options.label }, "poolClosed")
    const problem = memory.status.error ?? Label.problem(where, options.label)
    if (problem !== undefined) return problem
    const label = options.label ?? this.label
    const asks = new SetAside({
      owner,
      core: memory.core,
      parent,
      budgets: budget?.chain ?? [],
      label,
      fiberId: fiber.id,
      sequence: this.#leases.order.granted,
      registry: memory.reservations
    })
    const patience = this.#patienceOf(where, options)
    if (isGpuError(patience)) return patience
    const request = new LeaseRequest(
      source,
      where,
      asks,
      bytes,
      bytes,
      bytes,
      undefined,
      label,
      options.callSite,
      this.#leases.loans,
      fiber,
      this.#turnOf(fiber),
      patience,
      this.#termsOf(fiber),
      budget === undefined ? undefined : new Charge()
    )
    return this.#neverFits(request) ?? request
  }

  #whileOpen<A, E, R>(
    request: LeaseRequest<SetAside>,
    admission: Effect.Effect<void, GpuError>,
    f: () => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | GpuError, R> {
    const { memory } = this
    return Effect.onExitPrimitive(
      Effect.flatMap(admission, f),
      (exit) => {
        const ended = request.asks.close()
        if (request.asks.hasBegun) this.#blocks.events?.reservationEnded(request)
        const left = memory.letGo(request, exit)
        if (ended) memory.lines.serve()
        return left
      }
    )
  }

  #setAside(request: LeaseRequest): Effect.Effect<void, GpuError> {
    return Leasing.setAside(this.memory, request, this.budget?.chain)
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
      const problem = this.#problem(fiber, size, wanted, label, options)
      if (problem !== undefined) return problem
      bytes += this.source.exactSize(size)
    }
    const together = { list, fiber, wants, label, options, granted }
    return this.#areHeld(wants) ? this.#hitAll(together) : this.#reserveAll(together, bytes)
  }

  /** Whether each of a few requests has a held block of its own, so that no block is taken in vain. */
  #areHeld(wants: ReadonlyArray<Want<W>>): boolean {
    const { memory, source } = this
    if (wants.length === 0 || wants.length > mostHitTogether || !memory.mayHit || !this.#isPlain) return false
    const bins = wants.map(({ size, wanted }) => ({
      blockSize: size === 0 ? 0 : source.blockSize(size),
      family: source.family(wanted)
    }))
    // What one may have of the padding that a limit leaves, all of them together may have.
    const padding = bins.reduce((sum, { blockSize }, index) => sum + blockSize - wants[index]!.size, 0)
    if (source.borrows && padding > memory.core.nextPadding) return false
    return bins.every(({ blockSize, family }, index) => {
      let blocks = 1
      for (let before = 0; before < index; before++) {
        if (bins[before]!.blockSize === blockSize && bins[before]!.family === family) blocks++
      }
      return blockSize === 0 || memory.core.holds(family, blockSize, blocks)
    })
  }

  /** The whole of several hits, in one step. */
  #hitAll(
    { fiber, granted, label, list, options, wants }: WantedTogether<W, L>
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const where = this.#nameOf("allocateAll")
    const patience = this.#patienceOf(where, options)
    if (isGpuError(patience)) return patience
    if (list.closed) return this.#scopeClosed(where, wants[0]!.size, label)
    for (const { size, wanted } of wants) {
      const hit = this.#hit(list, size, wanted, label, options)!
      if (list.scope === undefined) hit.borrowerId = fiber.id
      granted.push(hit)
    }
    return Exit.succeed(granted)
  }

  /** The bytes of all are set aside before the first is acquired. */
  #reserveAll(
    { fiber, granted, label, list, options, wants }: WantedTogether<W, L>,
    bytes: number
  ): Effect.Effect<ReadonlyArray<L>, GpuError> {
    const request = this.#reservation(this.#nameOf("allocateAll"), this.source, fiber, bytes, { ...options, label })
    if (!(request instanceof LeaseRequest)) return request
    const requests = this.under({
      from: request.asks,
      patience: { onExhausted: "fail", waitAtMost: Infinity, isPart: true },
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
      this.#whileOpen(
        request,
        this.#setAside(request),
        () => Effect.as(this.#untilAll(request, attempt, granted, list), granted)
      ),
      (exit) => Exit.isFailure(exit) ? this.#endAll(granted, list) : undefined
    )
  }

  /** Where the driver has no memory for one of them, all leases end before the request waits. */
  readonly #untilAll = Effect.fnUntraced(
    { self: this },
    function*(
      request: LeaseRequest,
      attempt: Effect.Effect<void, GpuError>,
      granted: Array<L>,
      list: LeaseList
    ): Effect.fn.Return<void, GpuError> {
      const { memory, memory: { blocks, core } } = this
      const rungs = new Set(searchRungs(request)).add("driver")
      let tries = 0
      while (true) {
        const before = core.releases
        const elsewhere = blocks.progressElsewhere
        let given = 0
        const giveUp = (error: GpuError) => {
          given = granted.filter(({ block }) => block !== undefined).length
          // Two that try in turn would wake each other for ever with what each gives back.
          const left = blocks.retracting(() => this.#endAll(granted, list))
          return Effect.as(left ?? Exit.void, error)
        }
        const tried = Effect.matchEffect(attempt, { onFailure: giveUp, onSuccess: () => Effect.undefined })
        const error = yield* this.#attempt(request, tried, tries++, rungs)
        if (error === undefined) return
        const { handlers } = memory.lastResort
        if (error.reason._tag !== "OutOfMemory" || (request.patience.onExhausted === "fail" && handlers.isEmpty)) {
          return yield* error
        }
        // Memory that others gave back meanwhile may be enough.
        if (core.releases - given > before || blocks.progressElsewhere !== elsewhere) continue
        const seen = blocks.progress
        yield* memory.lastResort.take({
          request,
          rungs,
          missing: () => 0,
          refusal: { seen, isPast: () => blocks.progress !== seen },
          mayWait: () => memory.mayWait(request, true)
        })
      }
    }
  )

  /** Where other pools stand under the same limit, one that waits for its turn to try again ends with its pool, or in time. */
  #attempt(
    request: LeaseRequest,
    tried: Effect.Effect<GpuError | undefined>,
    before: number,
    rungs: Set<Rung>
  ): Effect.Effect<GpuError | undefined, GpuError> {
    const { memory, source } = this
    const { shares } = memory.blocks
    if (shares.length === 0) return tried
    if (before === 0) return shares.reduce((effect, share) => share.attempt(effect), tried)
    const over = Effect.map(
      Deferred.await(source.over),
      () => memory.problem(request) ?? unavailable(request, "poolClosed")
    )
    const alone = shares.reduce((effect, share) => share.attemptAgain(effect), tried)
    return memory.lastResort.inTime(Effect.raceFirst(alone, over), request, rungs)
  }

  /** Those that were not transferred meanwhile. */
  #endAll(leases: Array<L>, list: LeaseList): Effect.Effect<void> | undefined {
    let left: Effect.Effect<void> | undefined
    for (const lease of leases.splice(0)) {
      if (lease.list === list) left = together(left, this.#blocks.endUnsafe(lease, "released"))
    }
    return left
  }

  /** A pool that clears has not searched yet; most such requests are hits that need no ladder. */
  #lease(request: LeaseRequest): Effect.Effect<Lease, GpuError> {
    const { memory } = this
    if (this.budget === undefined) {
      drawMore(request)
      const found = !memory.hasWaiters || goesFirst(request) ? this.#blocks.search(request) : undefined
      if (request.granted === undefined) undraw(request)
      if (found !== undefined) return found
    }
    return Effect.onExitPrimitive(
      Effect.suspend(() => Leasing.lease(memory, request, this.budget?.chain)),
      (exit) => memory.letGo(request, exit)
    )
  }

  #endLoan(
    { hit, request }: { readonly hit: Lease | undefined; readonly request: LeaseRequest | undefined },
    exit: Exit.Exit<unknown, unknown>
  ): Effect.Effect<void> | undefined {
    return request === undefined
      ? this.#endLent(hit)
      : together(this.#endLent(request.granted), this.memory.letGo(request, exit))
  }

  /** Unless it was transferred meanwhile. */
  #endLent(lease: Lease | undefined): Effect.Effect<void> | undefined {
    return lease === undefined || lease.list !== this.#leases.loans
      ? undefined
      : this.#blocks.endUnsafe(lease, "scopeClosed")
  }
}

/**
 * A request of `allocate`, as one object: an effect that closes over its arguments is three. Those that a service's accessor makes
 * live for one hit.
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
  declare request: LeaseRequest | undefined

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
