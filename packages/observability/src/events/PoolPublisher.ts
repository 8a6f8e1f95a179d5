/**
 * Makes events from what a memory publishes, for all subscribers.
 *
 * @internal
 */
import * as CallSite from "effect-gpu-pool/CallSite"
import type { Publisher } from "effect-gpu-pool/EventHub"
import type { Lease } from "effect-gpu-pool/Lease"
import type { LeaseRequest } from "effect-gpu-pool/LeaseRequest"
import type { PoolSource } from "effect-gpu-pool/PoolSource"
import { QueueDriver } from "effect-gpu-pool/QueueDriver"
import type { WaitPolicy } from "effect-gpu-pool/Request"
import type { Origin } from "effect-gpu-pool/Reservation"
import * as Context from "effect/Context"
import { EventMaker, longestWait, placeOf } from "./EventMaker.ts"

export class PoolPublisher extends EventMaker<LeaseRequest> implements Publisher {
  /** The queue of each request at its first event: its fiber may later use another one. */
  readonly #queues = new WeakMap<LeaseRequest, QueueDriver["Service"]["order"] | undefined>()

  protected override queueOf(request: LeaseRequest): { readonly label: string | undefined; readonly isNamed: boolean } {
    if (!this.#queues.has(request)) {
      this.#queues.set(request, Context.getOrUndefined(request.maker.context, QueueDriver)?.order)
    }
    const order = this.#queues.get(request)
    return { label: order?.label, isNamed: order?.queues.several === true }
  }

  hit(request: number, lease: Lease, from: Origin, source: PoolSource, waitPolicy: WaitPolicy): void {
    const { label, size } = lease
    const block = lease.block!
    this.emit({
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
      waitAtMost: longestWait(waitPolicy),
      under: undefined,
      from,
      ...placeOf(block)
    })
  }
}
