/**
 * Makes events of what a memory tells, for all who listen.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { FreeReason, OfRequest, PoolEvent, Released } from "../../domain/pool/PoolEvent.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import type { Block, Lease } from "../lease/Lease.ts"
import type { Origin } from "./waiting/Charge.ts"
import type { Emitter, Heard } from "./waiting/Emitter.ts"
import type { LeaseRequest } from "./waiting/LeaseRequest.ts"

/** Numbers of blocks: each has one from the first event that names it on. */
const numbers = new WeakMap<object, number>()
let lastNumber = 0

const numberOf = ({ value }: Block): number => {
  const known = numbers.get(value) ?? ++lastNumber
  numbers.set(value, known)
  return known
}

type Body<E> = E extends PoolEvent ? Omit<E, "at" | "memory" | "device"> : never

export class PoolEmitter implements Emitter {
  readonly #memory: Heard
  readonly #now: () => number
  readonly #tell: (event: PoolEvent) => void
  /** When those in line began to wait. */
  readonly #since = new WeakMap<LeaseRequest, number>()

  constructor(memory: Heard, now: () => number, tell: (event: PoolEvent) => void) {
    this.#memory = memory
    this.#now = now
    this.#tell = tell
  }

  leased(request: LeaseRequest, block: Block, from: Origin): void {
    const { capacity } = block
    this.#emit({ _tag: "Leased", ...factsOf(request), from, block: numberOf(block), capacity })
  }

  kept(request: LeaseRequest, block: Block): void {
    this.#emit({ _tag: "Kept", ...factsOf(request), block: numberOf(block), capacity: block.capacity })
  }

  released({ label, size }: Lease, block: Block, why: Released["why"]): void {
    const { capacity } = block
    this.#emit({ _tag: "Released", pool: poolOf(block), block: numberOf(block), size, capacity, label, why })
  }

  freed(block: Block, why: FreeReason): void {
    this.#emit({ _tag: "Freed", pool: poolOf(block), block: numberOf(block), capacity: block.capacity, why })
  }

  reclaimed(): void {
    this.#emit({ _tag: "Reclaimed" })
  }

  refused(request: LeaseRequest, capacity: number, why: string): void {
    this.#emit({ _tag: "Refused", ...factsOf(request), capacity, why })
  }

  waiting(request: LeaseRequest): void {
    if (this.#since.has(request)) return
    this.#since.set(request, this.#now())
    this.#emit({ _tag: "Waiting", ...factsOf(request) })
  }

  waited(request: LeaseRequest, served: boolean): void {
    const since = this.#since.get(request)
    if (since === undefined) return
    this.#since.delete(request)
    this.#emit({ _tag: "Waited", ...factsOf(request), served, waitedMillis: this.#now() - since })
  }

  reserved(request: LeaseRequest): void {
    this.#emit({ _tag: "Reserved", ...factsOf(request) })
  }

  handlersAsked(request: LeaseRequest, freed: boolean): void {
    this.#emit({ _tag: "HandlersAsked", ...factsOf(request), freed })
  }

  ranOut(request: LeaseRequest, rungs: Iterable<string>): void {
    // A part of several that are wanted together is tried again.
    if (request.patience.isPart === true) return
    const { activeBytes, heldBytes } = this.#memory
    this.#emit({ _tag: "RanOut", ...factsOf(request), rungs: [...rungs], activeBytes, heldBytes })
  }

  limitChanged(budget: string | undefined, from: number, to: number): void {
    this.#emit({ _tag: "LimitChanged", budget, from, to })
  }

  lost(): void {
    this.#emit({ _tag: "Lost" })
  }

  #emit(body: Body<PoolEvent>): void {
    const { device, label } = this.#memory
    this.#tell({ ...body, at: this.#now(), memory: label, device })
  }
}

const poolOf = ({ value }: Block): string => value.pooledBy?.service ?? "pool"

const factsOf = (request: LeaseRequest): Omit<OfRequest, "at" | "memory" | "device"> => {
  const { budget, callSite, label, maker, size, source } = request
  const order = Context.getOrUndefined(maker.context, QueueDriver)?.order
  return {
    pool: source.service,
    size,
    label,
    budget: budget?.owner.name,
    queue: order?.queues.several === true ? order.label : undefined,
    callSite
  }
}
