/**
 * One request for a lease, from its check to its answer.
 *
 * @internal
 */
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import { BufferReleased, type GpuError, make as makeError } from "../../domain/GpuError.ts"
import type { PooledBuffer } from "../PooledBuffer.ts"
import type { Budget, Charge } from "./Budget.ts"
import type { LastResort } from "./LastResort.ts"
import type { LeaseList } from "./LeaseList.ts"
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

/** @internal */
export interface LeaseRequest {
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
  readonly patience: Patience
  /** The budget that it is made under. */
  readonly budget: Budget | undefined
  /** What it uses of that budget and of those around it. */
  readonly charge: Charge | undefined
  /** Its place in the line in which it waits or waited last. */
  waiter: Waiter | undefined
  /** The time at which it began to wait, in milliseconds, when its patience has an end. */
  waitingSince: number | undefined
  /** Whose handlers were of no help: what they do on the way, in leases of their own, is no reason to ask them again. */
  declinedBy: LastResort | undefined
  /** How often it believed handlers that nothing came back from. */
  believed: number
  /** Bytes of the pool that are reserved for it, until the driver is asked. */
  reserved: number
  /** Set in the step that grants it, so that whoever asked can end it wherever it is interrupted. */
  granted: PooledBuffer | undefined
}

/**
 * The error of asking for a lease in a scope or pool that is closed.
 *
 * @internal
 */
export const unavailable = (
  request: { readonly size: number; readonly label: string | undefined },
  why: BufferReleased["why"]
): GpuError =>
  makeError(new BufferReleased({ operation: "BufferPool.allocate", label: request.label, size: request.size, why }))
