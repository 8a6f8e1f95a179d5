/**
 * Who is told what happens to a memory, while somebody listens.
 *
 * @internal
 */
import type { FreeReason, GaveUp, Released } from "../../../domain/pool/PoolEvent.ts"
import type { Block, Lease } from "../../lease/Lease.ts"
import type { PoolSource } from "../../lease/PoolSource.ts"
import type { ChargedBudget, Origin } from "./Charge.ts"
import type { LeaseRequest, Patience } from "./LeaseRequest.ts"

/** Each is called in the step of what it tells, before what follows from that, and never throws. */
export interface Emitter {
  /** A hit that made no request of its own. */
  hit(request: number, lease: Lease, from: Origin, source: PoolSource, patience: Patience): void
  leased(request: LeaseRequest, block: Block, from: Origin): void
  driverAsked(request: LeaseRequest, capacity: number): void
  kept(request: LeaseRequest, block: Block): void
  released(lease: Lease, block: Block, why: Released["why"]): void
  freed(block: Block, why: FreeReason): void
  reclaimed(): void
  refused(request: LeaseRequest, capacity: number, why: string): void
  roomNeeded(request: LeaseRequest, missing: number): void
  gaveUp(request: LeaseRequest, why: GaveUp["why"]): void
  waiting(request: LeaseRequest): void
  /** It has left the line. Those who did not tell that it waits tell nothing. */
  waited(request: LeaseRequest, served: boolean): void
  reserved(request: LeaseRequest): void
  reservationEnded(request: LeaseRequest): void
  handlersAsked(request: LeaseRequest, freed: boolean): void
  ranOut(request: LeaseRequest, rungs: Iterable<string>): void
  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void
  /** Without `to` all that is held goes; `queue` is the label of the one whose blocks are meant. */
  trimAsked(to: number | undefined, queue: string | undefined): void
  holdingChanged(holds: boolean): void
  idleStep(steps: number): void
  lost(): void
  /** `pool` is the limit of the one that closes, where others go on. */
  closing(source: PoolSource | undefined, pool: ChargedBudget | undefined): void
  closed(): void
}
