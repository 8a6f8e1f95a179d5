/**
 * Who is told what the machine decides, while somebody observes.
 *
 * @since 0.1.0
 */
import type { PoolBlock } from "../PoolCore.ts"
import type { FreeReason, GaveUp } from "../PoolEvent.ts"
import type { Family, Request, RequestSource } from "./Request.ts"
import type { ChargedBudget, Origin } from "./Reservation.ts"

/**
 * - `acquired`: the number of the block that a request may have on its queue of the device; 0 for none.
 * - `clearFailed`: a block could not be cleared.
 * - `done`: others have acted within a step of the machine, which goes on.
 * - `jobs`: whether jobs may have what a queue waits for, as `AdmittedJobs` answers.
 *
 * @category models
 * @since 0.1.0
 */
export type Found = "acquired" | "clearFailed" | "done" | "jobs"

/**
 * Each is called in the step of what it tells, before what follows from that, and never throws.
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
  /** It has left the queue. Those who did not tell that it waits tell nothing. */
  waited(request: Request, served: boolean): void
  reserved(request: Request): void
  reservationEnded(request: Request): void
  handlersAsked(request: Request, freed: boolean): void
  ranOut(request: Request, steps: Iterable<string>): void
  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void
  /** Without `to` all that is held goes; `queue` is the label of the one whose blocks are meant. */
  trimAsked(to: number | undefined, queue: string | undefined): void
  holdingChanged(holds: boolean): void
  idleStep(steps: number): void
  lost(): void
  /** `pool` is the limit of the one that closes, where others go on. */
  closing(source: RequestSource | undefined, pool: ChargedBudget | undefined): void
  closed(): void
  /** What the machine found where it asked outside of itself. */
  found?(what: Found, value: number): void
}
