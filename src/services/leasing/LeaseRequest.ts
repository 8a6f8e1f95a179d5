/**
 * One request for a lease, from its check to its answer.
 *
 * @internal
 */
import type * as Scope from "effect/Scope"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import { BufferReleased, type GpuError, make as makeError } from "../../domain/GpuError.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import type { Budget, Charge } from "./Budget.ts"
import type { Help } from "./Help.ts"
import type { LeaseList } from "./LeaseList.ts"
import type { SetAside } from "./SetAside.ts"
import type { Waiter } from "./WaitLine.ts"

/**
 * What a request does when nothing fits.
 *
 * @internal
 */
export interface Patience {
  readonly onExhausted: "fail" | "wait"
  /** How long it waits at most, in milliseconds. */
  readonly waitAtMost: number
}

/**
 * One request for a lease, or (with `asks`) for a reservation: then all its sizes are the bytes of that.
 *
 * @internal
 */
export interface LeaseRequest {
  /** The call that made it, for its errors. */
  readonly operation: string
  readonly size: number
  readonly usage: BufferUsage
  readonly label: string | undefined
  /** Where it was made, while call sites are tracked. */
  readonly callSite: string | undefined
  /** The block that the size policy makes of it. */
  readonly blockSize: number
  /** The size without slack: the request rounded up to the device's granularity. */
  readonly exactSize: number
  /** The list that will own the lease. */
  readonly list: LeaseList
  /** The fiber that made it, and the scope around it, if there is one. */
  readonly fiberId: number
  readonly scope: Scope.Scope | undefined
  readonly patience: Patience
  /** The budget that it is made under. */
  readonly budget: Budget | undefined
  /** What it uses of that budget and of those around it. */
  readonly charge: Charge | undefined
  /** The reservation that it is made under. */
  readonly from: SetAside | undefined
  /** The turn of its pool in which it is made. */
  readonly turn: SetAside | undefined
  /** The reservation that it asks for, instead of a lease. */
  readonly asks: SetAside | undefined
  /** Bytes of `from` in its hands, which still count as set aside. */
  drawn: number
  /** Bytes of `from` that count as reserved or leased by now. */
  used: number
  /** The driver is at work for it. */
  calling: boolean
  /** It was let go. */
  isOver: boolean
  /** Its place in the line in which it waits or waited last. */
  waiter: Waiter | undefined
  /** The time at which it began to wait, in milliseconds, when its patience has an end. */
  waitingSince: number | undefined
  /** What the handlers that it asked last have done for it. */
  help: Help | undefined
  /** A handler asks for a lease of its own while others wait. */
  inHandler: boolean
  /** Bytes of the pool that are reserved for it, until the driver is asked. */
  reserved: number
  /** Takes the lease in the step that grants it, when it is one of several that are wanted together. */
  readonly collect: Array<PooledBuffer> | undefined
  /** Set in the step that grants it, so that whoever asked can end it wherever it is interrupted. */
  granted: PooledBuffer | undefined
}

/**
 * The error of asking for a lease in a scope or pool that is closed.
 *
 * @internal
 */
export const unavailable = (
  { label, operation, size }: Pick<LeaseRequest, "operation" | "size" | "label">,
  why: BufferReleased["why"]
): GpuError => makeError(new BufferReleased({ operation, label, size, why }))

/**
 * Whether its reservation covers it whole, so that it need not wait for others.
 *
 * @internal
 */
export const isCertain = (request: LeaseRequest): boolean =>
  request.from !== undefined && request.drawn >= request.exactSize

/**
 * Whether it goes past every line, and waits at its head: it is certain, or it is made in the one turn of the pool, whose
 * job holds memory that the line may wait for.
 *
 * @internal
 */
export const goesFirst = (request: LeaseRequest): boolean => isCertain(request) || request.turn?.isOpen === true

/**
 * Whether it waits at the head of a line: what it lacks may come back to its own reservation at any time, and those behind
 * may wait for that reservation to end.
 *
 * @internal
 */
export const waitsFirst = (request: LeaseRequest): boolean => goesFirst(request) || request.from?.isOpen === true

/**
 * Takes into the request's hands what it still lacks, as far as its reservation has it: for the step that serves it, or
 * for as long as budgets are charged with the rest.
 *
 * @internal
 */
export const drawMore = (request: LeaseRequest): void => {
  const { charge, exactSize, from } = request
  if (from === undefined || !from.isOpen || request.used > 0) return
  const drawn = from.draw(exactSize - request.drawn)
  if (drawn === 0) return
  request.drawn += drawn
  charge?.cover(from.budgets, drawn)
}

/**
 * One that waits keeps nothing from the other requests of its reservation.
 *
 * @internal
 */
export const rest = (request: LeaseRequest): void => {
  if (request.charge === undefined) undraw(request)
}

/**
 * Gives back to its reservation what it has drawn and not used.
 *
 * @internal
 */
export const undraw = (request: LeaseRequest): void => {
  const { drawn, from } = request
  if (drawn === 0) return
  request.drawn = 0
  from?.undraw(drawn)
}
