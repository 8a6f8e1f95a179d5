/**
 * The requests of a simulation: how they are made, and how they end.
 *
 * @internal
 */
import type { OfRequest, Released } from "../../../domain/pool/PoolEvent.ts"
import type { MachineRequest } from "../MachineRequest.ts"
import type { ReplayedSource } from "../ReplayedSource.ts"
import { Performing, succeeded } from "./Performing.ts"
import type { SimulatedMemory } from "./SimulatedMemory.ts"
import { SimulatedRequest } from "./SimulatedRequest.ts"

/** How long a lease or a reservation that ended at a time has lasted in the recording. */
const millisOf = ({ asked, outcome }: SimulatedRequest, end: number): number =>
  Math.max(0, end - (outcome.leasedAt ?? asked.at))

export class Requesting extends Performing {
  readonly requests = new Map<number, SimulatedRequest>()
  /** Those behind a reservation that start now. */
  #ready: Array<SimulatedRequest> = []

  /** How many requests have begun and not ended. */
  get length(): number {
    return this.pending.size
  }

  /** Whether nothing more is looked for. */
  get isOver(): boolean {
    const { endsWith, tally } = this.options
    return endsWith !== undefined && (this.failures.length > 0 || (endsWith === "wait" && tally.totals.waits > 0))
  }

  /** Makes a request, when it was made, or its first event has come. */
  make(asked: OfRequest, memory: SimulatedMemory<SimulatedRequest>): SimulatedRequest {
    const replayed = new SimulatedRequest(asked, this.options.trace.outcomeOf(asked.request), memory)
    this.requests.set(asked.request, replayed)
    const around = this.#around(replayed)
    if (around?.isWaiting !== true) this.#start(replayed)
    else {
      around.behind ??= []
      around.behind.push(replayed)
    }
    return replayed
  }

  #around({ asked: { under } }: SimulatedRequest): SimulatedRequest | undefined {
    return under === undefined ? undefined : this.requests.get(under)
  }

  /** The requests under a reservation that has begun, or failed. One after the other: each may let those behind itself start. */
  #startBehind(replayed: SimulatedRequest): void {
    const { behind } = replayed
    if (behind === undefined) return
    replayed.behind = undefined
    const isStarting = this.#ready.length > 0
    for (const one of behind) this.#ready.push(one)
    if (isStarting) return
    for (let at = 0; at < this.#ready.length; at++) if (!this.#ready[at]!.isOver) this.#start(this.#ready[at]!)
    this.#ready = []
  }

  #start(replayed: SimulatedRequest): void {
    this.pending.add(replayed)
    if (replayed.outcome.isReservation) this.#reserve(replayed)
    else this.#lease(replayed)
  }

  #lease(replayed: SimulatedRequest): void {
    const { asked: { budgetNumber, family, pool, size }, memory, memory: { core, inputs, machine } } = replayed
    const source = memory.sourceOf(family, pool, budgetNumber)
    if (this.#isUnavailable(replayed, source) || size === 0) return this.ended(replayed)
    const isPlain = budgetNumber === undefined && this.#around(replayed)?.reserved === undefined && !source.clears
    if (isPlain && machine.mayHit && size <= source.largest && size <= core.maxBytes) {
      replayed.lease = memory.hit(replayed, source)
      if (replayed.lease !== undefined) return this.ended(replayed)
    }
    const request = this.#request(replayed, "lease")
    if (request === undefined) return
    if (inputs.askOnce(request)) this.ended(replayed)
    else this.perform(replayed, inputs.ask(request))
  }

  #reserve(replayed: SimulatedRequest): void {
    const { asked: { budgetNumber, family, pool, waitAtMost }, outcome: { isSection }, memory } = replayed
    const { inputs, machine: { state } } = memory
    const around = this.#around(replayed)
    if (isSection) {
      const isCovered = around?.reserved?.isOpen === true || around?.section?.isOf(state) === true
      if (waitAtMost === 0 || isCovered) return this.begin(replayed)
    }
    if (this.#isUnavailable(replayed, memory.sourceOf(family, pool, budgetNumber))) return this.ended(replayed)
    const request = this.#request(replayed, isSection ? "section" : "reservation")
    if (request !== undefined) this.perform(replayed, inputs.ask(request))
  }

  /** Whether a request fails before it is made. */
  #isUnavailable(replayed: SimulatedRequest, source: ReplayedSource): boolean {
    const { error } = replayed.memory
    if (!source.closed && error === undefined) return false
    this.failed(replayed, source.closed ? "Released" : error!.reason._tag)
    return true
  }

  /** Undefined where it is larger than a limit, and over. */
  #request(
    replayed: SimulatedRequest,
    what: "lease" | "reservation" | "section"
  ): MachineRequest<SimulatedRequest> | undefined {
    const { asked: { waitAtMost }, memory, memory: { machine } } = replayed
    const around = this.#around(replayed)
    const request = memory.requestOf(replayed, what, {
      patience: { onExhausted: waitAtMost === 0 ? "fail" : "wait", waitAtMost },
      from: around?.reserved,
      section: around?.section?.isOf(machine.state) === true ? around.section : undefined
    })
    replayed.request = request
    const { budget, exactSize, operation, source } = request
    const mayFit = exactSize <= source.largest && exactSize <= machine.core.maxBytes &&
      budget?.limitProblem(operation, exactSize) === undefined
    if (mayFit || memory.inputs.tooLarge(request) === undefined) return request
    this.failed(replayed, "LimitExceeded")
    this.ended(replayed)
    return undefined
  }

  /** The effect of a reservation or an exclusive section begins. */
  protected override begin(replayed: SimulatedRequest): void {
    const { endsAfter, outcome: { isSection }, request } = replayed
    const asks = request?.asks
    replayed.reserved = isSection ? undefined : asks
    replayed.section = (isSection ? asks : undefined) ?? this.#around(replayed)?.section
    replayed.isWaiting = false
    replayed.isRunning = true
    replayed.begunAt = this.time.now
    this.#startBehind(replayed)
    if (endsAfter !== undefined) this.time.after(endsAfter, () => this.#endEffect(replayed))
  }

  #endEffect(replayed: SimulatedRequest): void {
    if (!replayed.isRunning) return
    replayed.isRunning = false
    const { memory: { inputs }, request } = replayed
    if (request !== undefined) inputs.reservationEnded(request, succeeded)
    this.ended(replayed)
  }

  protected override ended(replayed: SimulatedRequest): void {
    replayed.isOver = true
    replayed.isWaiting = false
    this.pending.delete(replayed)
    this.#startBehind(replayed)
    this.passed(replayed)
  }

  /** It is forgotten if it has ended, and the recording tells no more of it, as is known of all but those that were served at once. */
  override passed(replayed: SimulatedRequest): void {
    const { asked, outcome, isOver, live, request } = replayed
    if (!isOver || live !== undefined || request?.isCalling === true) return
    if (outcome.last < 0 || outcome.last > this.options.place()) return
    if (this.requests.get(asked.request) === replayed) this.requests.delete(asked.request)
  }

  override granted(replayed: SimulatedRequest): void {
    const { endsAfter } = replayed
    replayed.begunAt = this.time.now
    if (endsAfter !== undefined) this.time.after(endsAfter, () => this.#end(replayed, "released"))
  }

  #end(replayed: SimulatedRequest, why: Released["why"]): boolean {
    const { live, memory } = replayed
    if (live === undefined) return false
    memory.endLease(live, why)
    return true
  }

  /** Its lease has ended in the recording. One that it has got later it has for as long. */
  release(replayed: SimulatedRequest, why: Released["why"], at: number): void {
    const end = (): void => {
      // Nothing more is told of it.
      if (this.#end(replayed, why)) this.requests.delete(replayed.asked.request)
    }
    if (replayed.live !== undefined) this.#afterAsLong(replayed, at, end)
    else if (!replayed.isOver) replayed.endsAfter = millisOf(replayed, at)
  }

  /** Does something when so much time has passed since the beginning as in the recording. */
  #afterAsLong(replayed: SimulatedRequest, at: number, end: () => void): void {
    const left = (replayed.begunAt ?? this.time.now) + millisOf(replayed, at) - this.time.now
    if (left > 0) this.time.after(left, end)
    else end()
  }

  endReservation(replayed: SimulatedRequest, at: number): void {
    if (replayed.isRunning) this.#afterAsLong(replayed, at, () => this.#endEffect(replayed))
    else if (!replayed.isOver) replayed.endsAfter = millisOf(replayed, at)
  }

  /** The program has interrupted it, or its scope has closed. */
  giveUp(replayed: SimulatedRequest): void {
    if (this.pending.has(replayed)) this.interrupt(replayed)
    else {
      replayed.isOver = true
      this.#end(replayed, "scopeClosed")
    }
  }

  /** The request has failed in the recording. The replay ends its lease or reservation at once: the recording does not say how long it would last. */
  refuseLate(replayed: SimulatedRequest): void {
    if (replayed.isRunning) this.#endEffect(replayed)
    else if (!this.#end(replayed, "released") && !replayed.isOver) replayed.endsAfter = 0
  }

  /** The recording is over, or nothing more is looked for. */
  finish(): void {
    const pending = this.isOver ? [] : this.pending
    for (const replayed of pending) {
      if (replayed.outcome.wasServed && !replayed.isRunning) this.failed(replayed, "NeverServed")
    }
  }
}
