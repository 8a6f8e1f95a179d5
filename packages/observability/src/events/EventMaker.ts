/**
 * Makes events from what the machine of a memory publishes, in a program or a replay.
 *
 * @internal
 */
import * as CallSite from "effect-gpu-pool/CallSite"
import type { ObservedMemory } from "effect-gpu-pool/EventHub"
import { ofSections } from "effect-gpu-pool/ExclusiveSections"
import type { Lease } from "effect-gpu-pool/Lease"
import type { PoolBlock } from "effect-gpu-pool/PoolCore"
import type { FreeReason, GaveUp, Happened, Leased, OfRequest, PoolEvent, Released } from "effect-gpu-pool/PoolEvent"
import type { PoolObserver } from "effect-gpu-pool/PoolObserver"
import { type Family, numberOf, type Request, type RequestSource, type WaitPolicy } from "effect-gpu-pool/Request"
import type { ChargedBudget, Origin } from "effect-gpu-pool/Reservation"
import {
  type Asked,
  inHandler,
  type Input,
  type InputFacts,
  isPart,
  isSection,
  ownerClosed,
  waits
} from "../recording/Inputs.ts"

type Body<E> = E extends PoolEvent ? Omit<E, keyof Happened> : never

/** A block that names the pool that made it. */
export type EventBlock = PoolBlock<{ readonly pooledBy: { readonly service: string } | undefined }, Family>

/** What events say about their memory. */
export type EventMemory = Pick<ObservedMemory, "activeBytes" | "device" | "heldBytes" | "label" | "number">

/** Is called with each event, and with its request or else its budget. */
export type Publish<R> = (
  event: PoolEvent,
  about: R | { readonly budget: ChargedBudget | undefined } | undefined
) => void

export abstract class EventMaker<R extends Request> implements PoolObserver<EventBlock> {
  protected readonly memory: EventMemory
  protected readonly now: () => number
  readonly #publish: Publish<R>
  /** When waiting requests began to wait. */
  readonly #since = new WeakMap<R, number>()

  constructor(memory: EventMemory, now: () => number, publish: Publish<R>) {
    this.memory = memory
    this.now = now
    this.#publish = publish
  }

  /** The queue that a request is made on, and whether events name it: only while the device has several. */
  protected abstract queueOf(request: R): { readonly label: string | undefined; readonly isNamed: boolean }

  driverAsked(request: R, capacity: number): void {
    this.emit({ _tag: "DriverAsked", ...this.factsOf(request), capacity }, request)
  }

  leased(request: R, block: EventBlock, from: Origin): void {
    this.emit({ _tag: "Leased", ...this.factsOf(request), from, ...placeOf(block) }, request)
  }

  kept(request: R, block: EventBlock): void {
    this.emit({ _tag: "Kept", ...this.factsOf(request), block: block.number, capacity: block.capacity }, request)
  }

  released(lease: Pick<Lease, "label" | "size">, block: EventBlock, why: Released["why"]): void {
    const { label, size } = lease
    const callSite = CallSite.of(lease)
    this.emit({ _tag: "Released", pool: poolOf(block), ...placeOf(block), size, label, callSite, why })
  }

  freed(block: EventBlock, why: FreeReason): void {
    this.emit({ _tag: "Freed", pool: poolOf(block), block: block.number, capacity: block.capacity, why })
  }

  reclaimed(): void {
    this.emit({ _tag: "Reclaimed" })
  }

  refused(request: R, capacity: number, why: string): void {
    this.emit({ _tag: "Refused", ...this.factsOf(request), capacity, why }, request)
  }

  roomNeeded(request: R, missing: number): void {
    this.emit({ _tag: "RoomNeeded", ...this.factsOf(request), missing }, request)
  }

  gaveUp(request: R, why: GaveUp["why"]): void {
    this.emit({ _tag: "GaveUp", ...this.factsOf(request), why }, request)
  }

  waiting(request: R): void {
    const at = this.now()
    if (!this.#since.has(request)) this.#since.set(request, at)
    this.emit({ _tag: "Waiting", ...this.factsOf(request) }, request, at)
  }

  waited(request: R, served: boolean): void {
    const since = this.#since.get(request)
    if (since === undefined) return
    this.#since.delete(request)
    const at = this.now()
    this.emit({ _tag: "Waited", ...this.factsOf(request), served, waitedMillis: at - since }, request, at)
  }

  reserved(request: R): void {
    this.emit({ _tag: "Reserved", ...this.factsOf(request) }, request)
  }

  reservationEnded(request: R): void {
    this.emit({ _tag: "ReservationEnded", ...this.factsOf(request) }, request)
  }

  handlersAsked(request: R, freed: boolean): void {
    this.emit({ _tag: "HandlersAsked", ...this.factsOf(request), freed }, request)
  }

  ranOut(request: R, stepsTried: Iterable<string>): void {
    // An `allocateAll` makes the requests for its parts again.
    if (request.waitPolicy.isPart === true) return
    const { activeBytes, heldBytes } = this.memory
    this.emit(
      { _tag: "RanOut", ...this.factsOf(request), stepsTried: [...stepsTried], activeBytes, heldBytes },
      request
    )
  }

  limitChanged(budget: ChargedBudget | undefined, from: number, to: number): void {
    this.emit({ _tag: "LimitChanged", budget: budget?.owner.name, budgetNumber: budget?.number, from, to }, { budget })
  }

  trimAsked(to: number | undefined, queue: string | undefined): void {
    this.emit({ _tag: "TrimAsked", to: to ?? 0, all: to === undefined, queue })
  }

  holdingChanged(holds: boolean): void {
    this.emit({ _tag: "HoldingChanged", holds })
  }

  idleStep(steps: number): void {
    this.emit({ _tag: "IdleStep", steps })
  }

  closing(source: RequestSource | undefined, budget: ChargedBudget | undefined): void {
    this.emit({ _tag: "Closing", pool: source?.service, budgetNumber: budget?.number }, { budget })
  }

  lost(): void {
    this.emit({ _tag: "Lost" })
  }

  closed(): void {
    this.emit({ _tag: "Closed" })
  }

  protected factsOf(request: R): Omit<OfRequest, keyof Happened> {
    const { asks, budget, callSite, label, family, waitPolicy, section, size, source } = request
    const from = request.from ?? section
    const queue = this.queueOf(request)
    return {
      pool: source.service,
      request: numberOf(asks ?? request),
      // A reservation is for requests of any family.
      family: asks === undefined ? String(family) : "",
      size,
      label,
      budget: budget?.owner.name,
      budgetNumber: budget?.number,
      queue: queue.isNamed ? queue.label : undefined,
      callSite,
      waitAtMost: longestWait(waitPolicy),
      under: from === undefined ? undefined : numberOf(from)
    }
  }

  /** An input that makes a request known. */
  protected askedOf(what: Asked["what"], request: R): Asked {
    const { device, label, number } = this.memory
    const { accounts, waitPolicy, section } = request
    const how = howNow(request) + bit(waitPolicy.isPart === true, isPart) +
      bit(waitPolicy.onExhausted === "wait", waits) +
      bit(accounts[0]?.number === ofSections, isSection)
    const happened = { _tag: "Asked", at: this.now(), memory: label, memoryNumber: number, device } as const
    return {
      ...happened,
      ...this.factsOf(request),
      queue: this.queueOf(request).label,
      what,
      section: section === undefined ? undefined : numberOf(section),
      how
    }
  }

  /** Another input, or what the machine has read. The event of the same step has the time. */
  protected inputOf(
    what: Input["what"],
    request: R | undefined,
    { budget, pool, queue, value2 = 0, value3 = 0, value = 0, why }: InputFacts
  ): Input {
    const { device, label, number } = this.memory
    return {
      _tag: "Input",
      at: 0,
      memory: label,
      memoryNumber: number,
      device,
      what,
      how: request === undefined ? 0 : howNow(request),
      request: request === undefined ? undefined : numberOf(request.asks ?? request),
      value,
      value2,
      value3,
      pool,
      budgetNumber: budget?.number,
      queue,
      why
    }
  }

  /** Publishes an event. */
  protected emit(body: Body<PoolEvent>, about?: Parameters<Publish<R>>[1], at: number = this.now()): void {
    const { device, label, number } = this.memory
    this.#publish({ ...body, at, memory: label, memoryNumber: number, device }, about)
  }
}

const bit = (holds: boolean, value: number): number => holds ? value : 0

/** The facts of a request that can change while it is open. */
const howNow = (request: Request): number => bit(request.inHandler, inHandler) + bit(request.owner.closed, ownerClosed)

export const poolOf = ({ whole }: EventBlock): string => whole.value.pooledBy?.service ?? "pool"

/** How events say which block a lease has, or which part of one: a part has no number that lasts, and its block has one. */
export const placeOf = (
  { begin, capacity, whole }: Pick<EventBlock, "begin" | "capacity" | "whole">
): Pick<Leased, "block" | "capacity" | "offset" | "partBytes"> => {
  const block = { block: whole.number, capacity: whole.capacity }
  return capacity === whole.capacity ? block : { ...block, offset: begin, partBytes: capacity }
}

/** How long a request may wait in a queue, in milliseconds. */
export const longestWait = ({ onExhausted, waitAtMost }: WaitPolicy): number => onExhausted === "fail" ? 0 : waitAtMost
