/**
 * Makes events of what a memory tells, for all who listen.
 *
 * @internal
 */
import * as Context from "effect/Context"
import { numberOf, type Patience } from "../../domain/pool/machine/Request.ts"
import type { ChargedBudget, Origin } from "../../domain/pool/machine/Reservation.ts"
import type { FreeReason, GaveUp, Happened, OfRequest, PoolEvent, Released } from "../../domain/pool/PoolEvent.ts"
import * as CallSite from "../../services/calls/CallSite.ts"
import { QueueDriver } from "../../services/device/QueueDriver.ts"
import type { Block, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { Emitter, Heard } from "../../services/pool/EventHub.ts"
import type { LeaseRequest } from "../../services/pool/LeaseRequest.ts"

type Body<E> = E extends PoolEvent ? Omit<E, keyof Happened> : never

/** Is given each event, with the request that it is of, or else the budget. */
type Tell = (event: PoolEvent, about: LeaseRequest | { readonly budget: ChargedBudget | undefined } | undefined) => void

export class PoolEmitter implements Emitter {
  protected readonly memory: Heard
  protected readonly now: () => number
  readonly #tell: Tell
  /** When those in line began to wait. */
  readonly #since = new WeakMap<LeaseRequest, number>()

  constructor(memory: Heard, now: () => number, tell: Tell) {
    this.memory = memory
    this.now = now
    this.#tell = tell
  }

  hit(request: number, lease: Lease, from: Origin, source: PoolSource, patience: Patience): void {
    const { label, size } = lease
    const block = lease.block!
    this.#emit({
      _tag: "Leased",
      pool: source.service,
      request,
      family: String(block.bin?.family),
      size,
      label,
      budget: undefined,
      budgetNumber: undefined,
      queue: undefined,
      callSite: CallSite.of(lease),
      waitAtMost: longestWait(patience),
      under: undefined,
      from,
      block: block.number,
      capacity: block.capacity
    })
  }

  driverAsked(request: LeaseRequest, capacity: number): void {
    this.#emit({ _tag: "DriverAsked", ...this.#factsOf(request), capacity }, request)
  }

  leased(request: LeaseRequest, block: Block, from: Origin): void {
    const { capacity } = block
    this.#emit({ _tag: "Leased", ...this.#factsOf(request), from, block: block.number, capacity }, request)
  }

  kept(request: LeaseRequest, block: Block): void {
    this.#emit({ _tag: "Kept", ...this.#factsOf(request), block: block.number, capacity: block.capacity }, request)
  }

  released(lease: Lease, block: Block, why: Released["why"]): void {
    const { label, size } = lease
    const { capacity, number } = block
    const callSite = CallSite.of(lease)
    this.#emit({ _tag: "Released", pool: poolOf(block), block: number, size, capacity, label, callSite, why })
  }

  freed(block: Block, why: FreeReason): void {
    this.#emit({ _tag: "Freed", pool: poolOf(block), block: block.number, capacity: block.capacity, why })
  }

  reclaimed(): void {
    this.#emit({ _tag: "Reclaimed" })
  }

  refused(request: LeaseRequest, capacity: number, why: string): void {
    this.#emit({ _tag: "Refused", ...this.#factsOf(request), capacity, why }, request)
  }

  roomNeeded(request: LeaseRequest, missing: number): void {
    this.#emit({ _tag: "RoomNeeded", ...this.#factsOf(request), missing }, request)
  }

  gaveUp(request: LeaseRequest, why: GaveUp["why"]): void {
    this.#emit({ _tag: "GaveUp", ...this.#factsOf(request), why }, request)
  }

  waiting(request: LeaseRequest): void {
    if (!this.#since.has(request)) this.#since.set(request, this.now())
    this.#emit({ _tag: "Waiting", ...this.#factsOf(request) }, request)
  }

  waited(request: LeaseRequest, served: boolean): void {
    const since = this.#since.get(request)
    if (since === undefined) return
    this.#since.delete(request)
    this.#emit({ _tag: "Waited", ...this.#factsOf(request), served, waitedMillis: this.now() - since }, request)
  }

  reserved(request: LeaseRequest): void {
    this.#emit({ _tag: "Reserved", ...this.#factsOf(request) }, request)
  }

  reservationEnded(request: LeaseRequest): void {
    this.#emit({ _tag: "ReservationEnded", ...this.#factsOf(request) }, request)
  }

  handlersAsked(request: LeaseRequest, freed: boolean): void {
    this.#emit({ _tag: "HandlersAsked", ...this.#factsOf(request), freed }, request)
  }

  ranOut(request: LeaseRequest, rungs: Iterable<string>): void {
    // A part of several that are wanted together is tried again.
    if (request.patience.isPart === true) return
    const { activeBytes, heldBytes } = this.memory
    this.#emit({ _tag: "RanOut", ...this.#factsOf(request), rungs: [...rungs], activeBytes, heldBytes }, request)
  }

  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    this.#emit({ _tag: "LimitChanged", budget: budget?.owner.name, budgetNumber: budget?.number, from, to }, { budget })
  }

  trimAsked(to: number | undefined, queue: string | undefined): void {
    this.#emit({ _tag: "TrimAsked", to: to ?? 0, all: to === undefined, queue })
  }

  holdingChanged(holds: boolean): void {
    this.#emit({ _tag: "HoldingChanged", holds })
  }

  idleStep(steps: number): void {
    this.#emit({ _tag: "IdleStep", steps })
  }

  closing(source: PoolSource | undefined, budget: ChargedBudget | undefined): void {
    this.#emit({ _tag: "Closing", pool: source?.service, budgetNumber: budget?.number }, { budget })
  }

  lost(): void {
    this.#emit({ _tag: "Lost" })
  }

  closed(): void {
    this.#emit({ _tag: "Closed" })
  }

  #factsOf(request: LeaseRequest): Omit<OfRequest, keyof Happened> {
    const { asks, budget, callSite, label, family, patience, section, size, source } = request
    const from = request.from ?? section
    return {
      pool: source.service,
      request: numberOf(asks ?? request),
      // A reservation is for requests of any family.
      family: asks === undefined ? String(family) : "",
      size,
      label,
      budget: budget?.owner.name,
      budgetNumber: budget?.number,
      queue: queueOf(request),
      callSite,
      waitAtMost: longestWait(patience),
      under: from === undefined ? undefined : numberOf(from)
    }
  }

  #emit(body: Body<PoolEvent>, about?: Parameters<Tell>[1]): void {
    const { device, label, number } = this.memory
    this.#tell({ ...body, at: this.now(), memory: label, memoryNumber: number, device }, about)
  }
}

export const poolOf = ({ value }: Block): string => value.pooledBy?.service ?? "pool"

/** How long a request may wait in line, in milliseconds. */
export const longestWait = ({ onExhausted, waitAtMost }: Patience): number => onExhausted === "fail" ? 0 : waitAtMost

/** The queue that a request is made on, where the device has several. */
export const queueOf = ({ maker }: LeaseRequest): string | undefined => {
  const order = Context.getOrUndefined(maker.context, QueueDriver)?.order
  return order?.queues.several === true ? order.label : undefined
}
