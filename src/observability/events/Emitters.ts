/**
 * Two who are told what happens to a memory, as one.
 *
 * @internal
 */
import type { Patience } from "../../domain/pool/machine/Request.ts"
import type { ChargedBudget, Origin } from "../../domain/pool/machine/Reservation.ts"
import type { FreeReason, GaveUp, Released } from "../../domain/pool/PoolEvent.ts"
import type { Block, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { Emitter } from "../../services/pool/EventHub.ts"
import type { LeaseRequest } from "../../services/pool/LeaseRequest.ts"

export class Emitters implements Emitter {
  readonly #one: Emitter
  readonly #other: Emitter

  constructor(one: Emitter, other: Emitter) {
    this.#one = one
    this.#other = other
  }

  hit(request: number, lease: Lease, from: Origin, source: PoolSource, patience: Patience): void {
    this.#one.hit(request, lease, from, source, patience)
    this.#other.hit(request, lease, from, source, patience)
  }

  driverAsked(request: LeaseRequest, capacity: number): void {
    this.#one.driverAsked(request, capacity)
    this.#other.driverAsked(request, capacity)
  }

  leased(request: LeaseRequest, block: Block, from: Origin): void {
    this.#one.leased(request, block, from)
    this.#other.leased(request, block, from)
  }

  kept(request: LeaseRequest, block: Block): void {
    this.#one.kept(request, block)
    this.#other.kept(request, block)
  }

  released(lease: Lease, block: Block, why: Released["why"]): void {
    this.#one.released(lease, block, why)
    this.#other.released(lease, block, why)
  }

  freed(block: Block, why: FreeReason): void {
    this.#one.freed(block, why)
    this.#other.freed(block, why)
  }

  reclaimed(): void {
    this.#one.reclaimed()
    this.#other.reclaimed()
  }

  refused(request: LeaseRequest, capacity: number, why: string): void {
    this.#one.refused(request, capacity, why)
    this.#other.refused(request, capacity, why)
  }

  roomNeeded(request: LeaseRequest, missing: number): void {
    this.#one.roomNeeded(request, missing)
    this.#other.roomNeeded(request, missing)
  }

  gaveUp(request: LeaseRequest, why: GaveUp["why"]): void {
    this.#one.gaveUp(request, why)
    this.#other.gaveUp(request, why)
  }

  waiting(request: LeaseRequest): void {
    this.#one.waiting(request)
    this.#other.waiting(request)
  }

  waited(request: LeaseRequest, served: boolean): void {
    this.#one.waited(request, served)
    this.#other.waited(request, served)
  }

  reserved(request: LeaseRequest): void {
    this.#one.reserved(request)
    this.#other.reserved(request)
  }

  reservationEnded(request: LeaseRequest): void {
    this.#one.reservationEnded(request)
    this.#other.reservationEnded(request)
  }

  handlersAsked(request: LeaseRequest, freed: boolean): void {
    this.#one.handlersAsked(request, freed)
    this.#other.handlersAsked(request, freed)
  }

  ranOut(request: LeaseRequest, rungs: Iterable<string>): void {
    this.#one.ranOut(request, rungs)
    this.#other.ranOut(request, rungs)
  }

  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    this.#one.limitChanged(budget, from, to)
    this.#other.limitChanged(budget, from, to)
  }

  trimAsked(to: number | undefined, queue: string | undefined): void {
    this.#one.trimAsked(to, queue)
    this.#other.trimAsked(to, queue)
  }

  holdingChanged(holds: boolean): void {
    this.#one.holdingChanged(holds)
    this.#other.holdingChanged(holds)
  }

  idleStep(steps: number): void {
    this.#one.idleStep(steps)
    this.#other.idleStep(steps)
  }

  closing(source: PoolSource | undefined, pool: ChargedBudget | undefined): void {
    this.#one.closing(source, pool)
    this.#other.closing(source, pool)
  }

  lost(): void {
    this.#one.lost()
    this.#other.lost()
  }

  closed(): void {
    this.#one.closed()
    this.#other.closed()
  }
}
