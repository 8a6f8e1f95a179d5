/**
 * One request for a lease, from its check to its answer.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Scope from "effect/Scope"
import { type GpuError, make as makeError, Released } from "../../../domain/GpuError.ts"
import type { Lease } from "../../lease/Lease.ts"
import type { LeaseList } from "../../lease/LeaseTable.ts"
import type { PoolSource } from "../../lease/PoolSource.ts"
import type { Charge, ChargedBudget } from "./Charge.ts"
import type { Help } from "./Help.ts"
import type { AnyFiber } from "./Operation.ts"
import type { SetAside } from "./SetAside.ts"
import type { Waiter } from "./Waiter.ts"

/** What a request does when nothing fits. */
export interface Patience {
  readonly onExhausted: "fail" | "wait"
  /** How long it waits at most, in milliseconds. */
  readonly waitAtMost: number
  /** Whether it leaves the handlers to a request that it is a part of. */
  readonly isPart?: boolean
}

/** The terms of all requests of one pool, budget or reservation. */
export interface Terms {
  readonly budget: ChargedBudget | undefined
  readonly from: SetAside | undefined
  /** The defaults of requests. */
  readonly patience: Patience
  /** What leases without a label of their own are called. */
  readonly label: string | undefined
  /** The list that every granted lease is added to, in the step that grants it. */
  readonly collect?: Array<Lease> | undefined
}

/** One request for a lease, or (with `asks`) for a reservation: then all its sizes are the bytes of that. */
export class LeaseRequest<Asks extends SetAside | undefined = SetAside | undefined> {
  /** The kind of memory that it is for. */
  readonly source: PoolSource
  /** The call that made it, for its errors. */
  readonly operation: string
  /** The reservation that it asks for, instead of a lease. */
  readonly asks: Asks
  readonly size: number
  /** The requested size, rounded up to the device's granularity. */
  readonly exactSize: number
  /** The block that the size policy makes of it. */
  readonly blockSize: number
  /** What its source has to know besides. */
  readonly wanted: unknown
  readonly label: string | undefined
  /** Where it was made, while call sites are tracked. */
  readonly callSite: string | undefined
  /** The list that will own the lease. */
  readonly list: LeaseList
  readonly maker: AnyFiber
  /** The turn of its pool in which it is made. */
  readonly turn: SetAside | undefined
  readonly patience: Patience
  readonly terms: Terms
  /** What it uses of its budget and of those around it. */
  readonly charge: Charge | undefined
  /** Bytes of `from` that it has drawn, and that still count as set aside. */
  drawn = 0
  /** Bytes of `from` that count as reserved or leased by now. */
  used = 0
  /** Bytes of the pool that are reserved for it, until the driver is asked. */
  reserved = 0
  /** 0 until somebody who listens asks for it; a reservation has one for itself and the request for it. */
  number = 0
  /** The driver is at work for it. */
  calling = false
  /** What had come back when it asked the driver last, and how often it has asked since that came. */
  newsAtCall: number | undefined = undefined
  callsAtNews = 0
  /** The request has ended. */
  isOver = false
  /** The program wants it no more, and who listens knows. */
  gaveUp = false
  /** A handler asks for a lease of its own while others wait. */
  inHandler = false
  /** Its place in the line in which it waits or waited last. */
  waiter: Waiter<LeaseRequest> | undefined = undefined
  /** The time at which it began to wait, in milliseconds, when its patience has an end. */
  waitingSince: number | undefined = undefined
  /** What the handlers that it asked last have done for it. */
  help: Help | undefined = undefined
  /** Set in the step that grants it, so that the requesting fiber can end the lease wherever it is interrupted. */
  granted: Lease | undefined = undefined

  /** One by one, since an object of options would cost each request that waits a tenth of its time. */
  constructor(
    source: PoolSource,
    operation: string,
    asks: Asks,
    size: number,
    exactSize: number,
    blockSize: number,
    wanted: unknown,
    label: string | undefined,
    callSite: string | undefined,
    list: LeaseList,
    maker: AnyFiber,
    turn: SetAside | undefined,
    patience: Patience,
    terms: Terms,
    charge: Charge | undefined
  ) {
    this.source = source
    this.operation = operation
    this.asks = asks
    this.size = size
    this.exactSize = exactSize
    this.blockSize = blockSize
    this.wanted = wanted
    this.label = label
    this.callSite = callSite
    this.list = list
    this.maker = maker
    this.turn = turn
    this.patience = patience
    this.terms = terms
    this.charge = charge
  }

  /** The budget that it is made under. */
  get budget(): ChargedBudget | undefined {
    return this.terms.budget
  }

  /** The reservation that it is made under. */
  get from(): SetAside | undefined {
    return this.terms.from
  }

  /** Takes the lease in the step that grants it, when it is one of several that are wanted together. */
  get collect(): Array<Lease> | undefined {
    return this.terms.collect
  }

  get fiberId(): number {
    return this.maker.id
  }

  /** The scope that will own the lease, or the one around the fiber that asks for a loan. */
  get scope(): Scope.Scope | undefined {
    return this.list.scope ?? Context.getOrUndefined(this.maker.context, Scope.Scope)
  }
}

let lastNumber = 0

/** The next number of a request. */
export const nextNumber = (): number => ++lastNumber

/** The number of a request or a reservation, which it has from the first question on. */
export const numberOf = (numbered: { number: number }): number =>
  numbered.number === 0 ? numbered.number = nextNumber() : numbered.number

/** The error of asking for a lease in a scope or pool that is closed. */
export const unavailable = (
  { label, operation, size, source }: Pick<LeaseRequest, "source" | "operation" | "size" | "label">,
  why: Released["why"]
): GpuError => makeError(new Released({ operation, label, size, why, what: source.what }))

/** Whether its reservation covers it whole, so that it need not wait for others. */
export const isCertain = (request: LeaseRequest): boolean =>
  request.from !== undefined && request.drawn >= request.exactSize

/**
 * Whether it goes past every line, and waits at its head: it is certain, or it is made in the one turn of the pool, whose
 * job holds memory that the line may wait for.
 */
export const goesFirst = (request: LeaseRequest): boolean => isCertain(request) || request.turn?.isOpen === true

/**
 * Whether it waits at the head of a line: what it lacks may come back to its own reservation at any time, and those behind
 * may wait for that reservation to end.
 */
export const waitsFirst = (request: LeaseRequest): boolean => goesFirst(request) || request.from?.isOpen === true

/** Whether it has got what it asks for, as its fiber may not know yet. */
export const hasGot = ({ asks, granted }: LeaseRequest): boolean => granted !== undefined || asks?.hasBegun === true

/**
 * Draws the bytes that the request still lacks from its reservation, as far as that has them: for the step that serves
 * it, or while budgets are charged with the rest.
 */
export const drawMore = (request: LeaseRequest): void => {
  const { charge, exactSize, from } = request
  if (from === undefined || !from.isOpen || request.used > 0) return
  const drawn = from.draw(exactSize - request.drawn)
  if (drawn === 0) return
  request.drawn += drawn
  charge?.cover(from.budgets, drawn)
}

/** One that waits keeps nothing from the other requests of its reservation. */
export const rest = (request: LeaseRequest): void => {
  if (request.charge === undefined) undraw(request)
}

/** Gives the drawn bytes that it has not used back to its reservation. */
export const undraw = (request: LeaseRequest): void => {
  const { drawn, from } = request
  if (drawn === 0) return
  request.drawn = 0
  from?.undraw(drawn)
}
