/**
 * What the machine calls with its decisions, while someone observes.
 *
 * @since 0.1.0
 */
import type { PoolBlock } from "../PoolCore.ts"
import type { FreeReason, GaveUp } from "../PoolEvent.ts"
import type { Family, Request, RequestSource } from "./Request.ts"
import type { ChargedBudget, Origin } from "./Reservation.ts"

/**
 * - `acquired`: the number of the block that was chosen for a request, for its queue or apart from others, 0 for none; and where its
 *   part of that begins.
 * - `clearFailed`: a block could not be cleared.
 * - `done`: other code has run within a step of the machine, which now continues.
 * - `jobs`: an answer of `AdmittedJobs`.
 *
 * @category models
 * @since 0.1.0
 */
export type Found = "acquired" | "clearFailed" | "done" | "jobs"

/**
 * Each method is called synchronously when the event happens, before its consequences, and never throws.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolObserver<B extends PoolBlock<unknown, Family> = PoolBlock<unknown, Family>> {
  leased(request: Request, block: B, from: Origin): void
  driverAsked(request: Request, capacity: number): void
  kept(request: Request, block: B): void
  freed(block: B, why: FreeReason): void
  reclaimed(): void
  refused(request: Request, capacity: number, why: string): void
  roomNeeded(request: Request, missing: number): void
  gaveUp(request: Request, why: GaveUp["why"]): void
  waiting(request: Request): void
  /** It has left the queue. A publisher that did not publish that it waits does not publish this. */
  waited(request: Request, served: boolean): void
  reserved(request: Request): void
  reservationEnded(request: Request): void
  handlersAsked(request: Request, freed: boolean): void
  ranOut(request: Request, steps: Iterable<string>): void
  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void
  /** Without `to` all held blocks go; with `queue`, the label of one, only those of that queue. */
  trimAsked(to: number | undefined, queue: string | undefined): void
  holdingChanged(holds: boolean): void
  idleStep(steps: number): void
  lost(): void
  /** `pool` is the limit of the pool that closes, where others on the memory stay open. */
  closing(source: RequestSource | undefined, pool: ChargedBudget | undefined): void
  closed(): void
  /** An answer that the machine got from outside. */
  found?(what: Found, value: number, value2?: number): void
}
