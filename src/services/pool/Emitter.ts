/**
 * Who is told what happens to a memory, while somebody observes: what the machine decides, and the hits and ends of leases that pass
 * it by.
 *
 * @internal
 */
import type { PoolObserver } from "../../domain/pool/machine/PoolObserver.ts"
import type { Patience } from "../../domain/pool/machine/Request.ts"
import type { Origin } from "../../domain/pool/machine/Reservation.ts"
import type { Released } from "../../domain/pool/PoolEvent.ts"
import type { Block, Lease } from "../lease/Lease.ts"
import type { PoolSource } from "../lease/PoolSource.ts"

/** Each is called in the step of what it tells, before what follows from that, and never throws. */
export interface Emitter extends PoolObserver {
  /** A hit that made no request of its own. */
  hit(request: number, lease: Lease, from: Origin, source: PoolSource, patience: Patience): void
  released(lease: Lease, block: Block, why: Released["why"]): void
}
