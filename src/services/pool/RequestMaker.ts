/**
 * Makes requests: it checks what a program asks for, and what it is made under (a budget, a reservation, an exclusive section).
 *
 * @internal
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Label from "../../domain/arguments/Label.ts"
import { place } from "../../domain/ErrorStack.ts"
import { type GpuError, isGpuError } from "../../domain/GpuError.ts"
import type { Budget } from "../../domain/pool/machine/Budget.ts"
import type { Account } from "../../domain/pool/machine/Request.ts"
import { unavailable, type WaitPolicy } from "../../domain/pool/machine/Request.ts"
import { Reservation } from "../../domain/pool/machine/Reservation.ts"
import { type ExhaustedOptions, type RequestOptions, waitPolicyOf } from "../../domain/pool/PoolOptions.ts"
import type { Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseList, LeaseTable } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { CurrentReservations, CurrentSection } from "./CurrentReservations.ts"
import { LeaseRequest } from "./LeaseRequest.ts"
import type { PoolRuntime } from "./PoolRuntime.ts"
import { refuse } from "./RequestRun.ts"

export type AnyFiber = Fiber.Fiber<unknown, unknown>

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

/** How many leases of an `allocateAll` may be hits in one step. For more, their bytes are reserved first. */
const mostHitTogether = 16

/** One of several leases that a program asks for together. */
export interface Want<W> {
  readonly size: number
  readonly wanted: W
}

export class RequestMaker<W, V extends Leasable, L extends Lease<V>> {
  readonly pool: PoolRuntime
  readonly source: PoolSource<W, V, L>
  readonly terms: Terms
  readonly label: string | undefined
  readonly budget: Budget | undefined
  protected readonly leases: LeaseTable
  protected readonly allocating: string
  protected readonly using: string
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
    this.using = `${source.service}.use`
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

  /** Kept short for valid requests, which are nearly all. */
  protected problem(
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<never, GpuError> | undefined {
    return !this.source.closed && this.pool.status.error === undefined &&
        Number.isInteger(size) && size >= 0 && this.mayFit(size) &&
        this.source.isUsual(wanted) && Label.isLabel(label)
      ? undefined
      : this.reason(fiber, size, wanted, label, options)
  }

  private reason(
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): Effect.Effect<never, GpuError> | undefined {
    const { pool, source } = this
    const operation = this.allocating
    if (!source.closed && pool.status.error !== undefined) return pool.status.error
    const problem = source.closed
      ? unavailable({ source, operation, size, label }, "poolClosed")
      : source.problem(operation, size, wanted, label)
    if (problem !== undefined) return place(problem, operation, options?.callSite)
    if (this.mayFit(size)) return undefined
    const request = this.request(this.leases.loans, fiber, size, wanted, label, options)
    return request instanceof LeaseRequest ? undefined : request
  }

  private mayFit(bytes: number): boolean {
    return bytes <= this.largest && bytes <= this.pool.core.maxBytes
  }

  protected request(
    list: LeaseList,
    fiber: AnyFiber,
    size: number,
    wanted: W,
    label: string | undefined,
    options: RequestOptions | undefined
  ): LeaseRequest<L> | Effect.Effect<never, GpuError> {
    const { budget, source, terms: { collect } } = this
    const operation = this.allocating
    const waitPolicy = this.waitPolicyOf(operation, options)
    if (isGpuError(waitPolicy)) return waitPolicy
    const exactSize = source.exactSize(size)
    const blockSize = source.blockSize(size)
    const request = new LeaseRequest<L>({
      source,
      operation,
      asks: undefined,
      size,
      exactSize,
      blockSize: budget === undefined ? blockSize : budget.blockSize(blockSize, exactSize),
      family: source.family(wanted),
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
      collect
    })
    return this.neverFits(request) ?? request
  }

  /** What a request does when nothing fits; or InvalidRequest for invalid options. */
  protected waitPolicyOf(where: string, options: ExhaustedOptions | undefined): WaitPolicy | GpuError {
    const { waitPolicy: without } = this.terms
    return options?.onExhausted === undefined && options?.waitAtMost === undefined
      ? without
      : waitPolicyOf(where, options, without)
  }

  /** LimitExceeded for a request that can never fit. */
  private neverFits(request: LeaseRequest): Effect.Effect<never, GpuError> | undefined {
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
    let section = fiber.getRef(CurrentSection)
    while (section !== undefined && !section.isOf(state)) section = section.parent
    return section
  }

  protected reservationOf(
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
  protected reservation(
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
  protected areHeld(wants: ReadonlyArray<Want<W>>): boolean {
    const { pool, source } = this
    if (wants.length === 0 || wants.length > mostHitTogether || !this.mayHit) return false
    const bins = wants.map(({ size, wanted }) => ({
      blockSize: size === 0 ? 0 : source.blockSize(size),
      family: source.family(wanted)
    }))
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
