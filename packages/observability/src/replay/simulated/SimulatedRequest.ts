/**
 * The requests of a simulation: each acts on the machine's outputs, until it has to wait for the driver, for handlers, or to be served. The
 * recording says when it is made, how long the driver takes, and how long it has its lease.
 *
 * @internal
 */
import type { OfRequest, Released } from "effect-gpu-pool/PoolEvent"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { PoolOutput } from "effect-gpu-pool/PoolMachine"
import { unavailable } from "effect-gpu-pool/Request"
import type { Reservation } from "effect-gpu-pool/Reservation"
import * as Exit from "effect/Exit"
import { type MachineRequest, ReplayedRequest } from "../MachineRequest.ts"
import { reasonOf, refusal } from "../Refusal.ts"
import { Placeholder, type ReplayedLease, type ReplayedPool, type ReplayedSource } from "../ReplayedSource.ts"
import type { Failed, Reason, Tally } from "../ReplayReport.ts"
import type { SimulatedMemory } from "./SimulatedMemory.ts"
import type { Outcome, Trace } from "./Trace.ts"
import type { Timer, VirtualTime } from "./VirtualTime.ts"

const succeeded = { isFailure: false, isInterrupted: false, reason: undefined }

/** A request of a simulation: its scope never closes, and no handler makes it. */
export class SimulatedRequest extends ReplayedRequest {
  readonly memory: SimulatedMemory
  readonly outcome: Outcome
  /** Gives it the handlers' answer; undefined while it asks none. */
  answerHandlers: ((freed: boolean) => void) | undefined = undefined
  readonly #all: SimulatedRequests
  /** Undefined if it hits at once. */
  #request: MachineRequest | undefined = undefined
  #lease: ReplayedLease | undefined = undefined
  /** When its lease or its reservation began in the replay. */
  #begunAt: number | undefined = undefined
  /** Whether it asks for a reservation that it does not have yet. */
  isWaiting: boolean
  /** Whether the effect of its reservation runs. */
  #isRunning = false
  #isOver = false
  /** Its reservation, while the effect of that runs. */
  reserved: Reservation | undefined = undefined
  /** The exclusive section in which its effect runs: its own, or the one around it. */
  section: Reservation | undefined = undefined
  /** Requests under its reservation, while it waits for that. */
  behind: Array<SimulatedRequest> | undefined = undefined
  /** How often it has called the driver. */
  #calls = 0
  /** Fires when it has waited as long as it may. */
  #timer: Timer | undefined = undefined
  /** How many milliseconds after its beginning it ends; known if the recorded end precedes its beginning here. */
  #endsAfter: number | undefined = undefined

  constructor(asked: OfRequest, memory: SimulatedMemory, all: SimulatedRequests) {
    super(asked)
    this.memory = memory
    this.outcome = all.trace.outcomeOf(asked.request)
    this.#all = all
    this.isWaiting = this.outcome.isReservation
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** The request under whose reservation it is made. It may have to wait for that one. */
  get #around(): SimulatedRequest | undefined {
    const { under } = this.asked
    return under === undefined ? undefined : this.#all.known.get(under)
  }

  get #inputs(): PoolInputs {
    return this.memory.inputs
  }

  get #time(): VirtualTime {
    return this.#all.time
  }

  /** The lease that it has now, even if it has not resumed since the grant. */
  get #live(): ReplayedLease | undefined {
    const lease = this.#lease ?? this.#request?.granted
    return lease?.block === undefined ? undefined : lease
  }

  /** Starts it, or lets it wait for the reservation around it. */
  make(): void {
    const around = this.#around
    if (around?.isWaiting !== true) return this.start()
    around.behind ??= []
    around.behind.push(this)
  }

  start(): void {
    if (this.#isOver) return
    this.#all.pending.add(this)
    if (this.outcome.isReservation) this.#reserve()
    else this.#allocate()
  }

  #allocate(): void {
    const { asked: { budgetNumber, family, pool, size }, memory, memory: { core, machine } } = this
    const source = memory.sourceOf(family, pool, budgetNumber)
    if (this.#isUnavailable(source) || size === 0) return this.#end()
    const isPlain = budgetNumber === undefined && this.#around?.reserved === undefined && !source.clears
    if (isPlain && machine.mayHit && size <= source.largest && size <= core.maxBytes) {
      this.#lease = memory.hit(this, source)
      if (this.#lease !== undefined) return this.#end()
    }
    const request = this.#ask("lease")
    if (request === undefined) return
    if (this.#inputs.askOnce(request)) this.#end()
    else this.#perform(this.#inputs.ask(request))
  }

  #reserve(): void {
    const { asked: { budgetNumber, family, pool, waitAtMost }, memory, outcome: { isSection } } = this
    const around = this.#around
    if (isSection) {
      const isCovered = around?.reserved?.isOpen === true || around?.section?.isOf(memory.machine.state) === true
      if (waitAtMost === 0 || isCovered) return this.#begin()
    }
    if (this.#isUnavailable(memory.sourceOf(family, pool, budgetNumber))) return this.#end()
    const request = this.#ask(isSection ? "section" : "reservation")
    if (request !== undefined) this.#perform(this.#inputs.ask(request))
  }

  /** Fails it if its pool is closed or its device lost. */
  #isUnavailable(source: ReplayedSource): boolean {
    const { error } = this.memory
    if (!source.closed && error === undefined) return false
    this.#all.failed(this, source.closed ? "Released" : error!.reason._tag)
    return true
  }

  /** Makes its machine request; undefined where it has failed because it is larger than a limit. */
  #ask(what: "lease" | "reservation" | "section"): MachineRequest | undefined {
    const { asked: { waitAtMost }, memory, memory: { machine } } = this
    const around = this.#around
    const request = memory.requestOf(this, what, {
      waitPolicy: { onExhausted: waitAtMost === 0 ? "fail" : "wait", waitAtMost },
      from: around?.reserved,
      section: around?.section?.isOf(machine.state) === true ? around.section : undefined
    })
    this.#request = request
    const { budget, exactSize, operation, source } = request
    const mayFit = exactSize <= source.largest && exactSize <= machine.core.maxBytes &&
      budget?.limitProblem(operation, exactSize) === undefined
    if (mayFit || this.#inputs.tooLarge(request) === undefined) return request
    this.#all.failed(this, "LimitExceeded")
    this.#end()
    return undefined
  }

  /** Acts on the machine's outputs, until it has to wait for something or is over. */
  #perform(first: PoolOutput | undefined): void {
    for (let output = first; output !== undefined;) output = this.#do(output)
  }

  #do(output: PoolOutput): PoolOutput | undefined {
    const request = this.#request!
    switch (output) {
      case "Granted":
        if (request.asks !== undefined) this.#begin()
        else {
          this.#inputs.ended(request, succeeded)
          this.#lease = request.granted
          this.#end()
        }
        return undefined
      case "Failed":
        this.#fail(reasonOf(request))
        return undefined
      case "AskDriver":
        return this.#askDriver(request)
      case "Reclaim":
        return this.#reclaim(request)
      case "AskHandlers":
        return this.#askHandlers(request)
      case "Wait":
        return this.#wait(request)
    }
  }

  /** Ends it without a lease or reservation. */
  #fail(reason: Reason | undefined): void {
    const request = this.#request!
    const ending = { isFailure: true, isInterrupted: reason === undefined, reason }
    this.#isRunning = false
    this.#stopWaiting()
    if (request.asks === undefined) this.#inputs.ended(request, ending)
    else this.#inputs.reservationEnded(request, ending)
    if (reason !== undefined) this.#all.failed(this, reason)
    this.#end()
  }

  /** The driver answers after as long as in the recording. */
  #askDriver(request: MachineRequest): PoolOutput | undefined {
    const capacity = this.#inputs.driverAsked(request)
    const recorded = this.outcome.calls?.[this.#calls++]
    const millis = recorded === undefined || recorded.answeredAt === Infinity
      ? 0
      : recorded.answeredAt - recorded.askedAt
    const refused = () => this.#refusalOf(recorded?.why, capacity)
    if (millis <= 0) {
      this.#answer(request, capacity, refused())
      return this.#inputs.advance(request)
    }
    const answer = (why: string | undefined): void => {
      calls.delete(interrupt)
      timer.run = undefined
      this.#answer(request, capacity, why)
      if (this.#isOver) this.passed()
      else this.#perform(this.#inputs.advance(request))
    }
    const { pool: { calls } } = request.source
    const interrupt = (): void => answer("Interrupted")
    const timer = this.#time.after(millis, () => answer(refused()))
    calls.add(interrupt)
    return undefined
  }

  #answer(request: MachineRequest, capacity: number, why: string | undefined): void {
    const { source } = request
    if (why === undefined) return this.#inputs.driverAnswered(request, new Placeholder(source))
    const ended = source.closed ? unavailable(request, "poolClosed") : this.memory.error
    const error = why === "Interrupted" ? ended ?? Exit.interrupt() : refusal(why, capacity)
    this.#inputs.driverRefused(request, why, () => error)
  }

  /** Whether the driver refuses. Under another policy it has as much memory as the recorded refusals imply. */
  #refusalOf(why: string | undefined, capacity: number): string | undefined {
    const { core, trace: { peakBytes, refusedAt } } = this.memory
    if (why !== undefined && why !== "OutOfMemory" && why !== "Interrupted") return why
    const most = Math.max(refusedAt - 1, peakBytes)
    return core.managedBytes + capacity > most && refusedAt < Infinity ? "OutOfMemory" : undefined
  }

  /** Reclaims at once: files of other tools do not say when memory was reclaimed. */
  #reclaim(request: MachineRequest): PoolOutput | undefined {
    const { memory, memory: { error } } = this
    if (error === undefined) {
      memory.reclaim()
      return this.#inputs.reclaimedFor(request)
    }
    this.#fail(error.reason._tag)
    return undefined
  }

  /** Asks the handlers, which answer when they did in the recording. */
  #askHandlers(request: MachineRequest): PoolOutput | undefined {
    const answer = (freed: boolean): PoolOutput => {
      this.#stopWaiting()
      this.#inputs.handlersEnded(request, freed, false)
      return this.#inputs.handlersAnswered(request, freed)
    }
    // It may have waited too long already before it asks again.
    const waited = this.#waited(request)
    if (waited > this.asked.waitAtMost) {
      this.#inputs.handlersEnded(request, false, false)
      return this.#inputs.timedOut(request, waited)
    }
    if (this.outcome.lastHandlers < this.#all.place) return answer(false)
    this.memory.asking.add(this)
    this.answerHandlers = (freed) => this.#perform(answer(freed))
    this.#limitWait(request)
    return undefined
  }

  #wait(request: MachineRequest): PoolOutput | undefined {
    if (!request.isWaiting) return this.#inputs.advance(request)
    request.resume = () => {
      this.#stopWaiting()
      this.#perform(this.#inputs.advance(request))
    }
    this.#limitWait(request)
    return undefined
  }

  #waited({ waitingSince }: MachineRequest): number {
    return this.#time.now - (waitingSince ?? this.#time.now)
  }

  #limitWait(request: MachineRequest): void {
    const { asked: { waitAtMost } } = this
    if (waitAtMost === Infinity || waitAtMost === 0) return
    request.waitingSince ??= this.#time.now
    const left = Math.max(0, waitAtMost - this.#waited(request))
    this.#timer = this.#time.after(left, () => this.#timeOver(request))
  }

  #stopWaiting(): void {
    this.memory.asking.delete(this)
    this.answerHandlers = undefined
    if (this.#timer !== undefined) this.#timer.run = undefined
    this.#timer = undefined
  }

  #timeOver(request: MachineRequest): void {
    const isAsking = this.answerHandlers !== undefined
    request.resume = undefined
    this.#stopWaiting()
    if (isAsking) this.#inputs.handlersEnded(request, false, false)
    this.#perform(this.#inputs.timedOut(request, this.#waited(request)))
  }

  /** Begins the effect of its reservation or exclusive section. */
  #begin(): void {
    const { isSection } = this.outcome
    const asks = this.#request?.asks
    this.reserved = isSection ? undefined : asks
    this.section = (isSection ? asks : undefined) ?? this.#around?.section
    this.isWaiting = false
    this.#isRunning = true
    this.#begunAt = this.#time.now
    this.#startBehind()
    if (this.#endsAfter !== undefined) this.#time.after(this.#endsAfter, () => this.#endEffect())
  }

  #startBehind(): void {
    const behind = this.behind
    this.behind = undefined
    if (behind !== undefined) this.#all.start(behind)
  }

  #endEffect(): void {
    if (!this.#isRunning) return
    this.#isRunning = false
    if (this.#request !== undefined) this.#inputs.reservationEnded(this.#request, succeeded)
    this.#end()
  }

  /** Ends it: it has what it asked for, or has failed. */
  #end(): void {
    this.#isOver = true
    this.isWaiting = false
    this.#all.pending.delete(this)
    this.#startBehind()
    this.passed()
  }

  /** Forgets it if it has ended and the recording has no more events of it. The last event of a request served at once is not known. */
  passed(): void {
    const { outcome: { last } } = this
    if (!this.#isOver || this.#live !== undefined || this.#request?.isCalling === true) return
    if (last >= 0 && last <= this.#all.place) this.#all.forget(this)
  }

  override granted(): void {
    this.#begunAt = this.#time.now
    if (this.#endsAfter !== undefined) this.#time.after(this.#endsAfter, () => this.#endLease("released"))
  }

  #endLease(why: Released["why"]): boolean {
    const live = this.#live
    if (live !== undefined) this.memory.endLease(live, why)
    return live !== undefined
  }

  /** Handles the recorded end of its lease. A lease that began later here lasts as long as the recorded one. */
  release(why: Released["why"], at: number): void {
    if (this.#live === undefined) return this.#endLater(at)
    this.#afterAsLong(at, () => {
      // The recording has no more events of it.
      if (this.#endLease(why)) this.#all.known.delete(this.asked.request)
    })
  }

  /** Handles the recorded end of its reservation. */
  endReservation(at: number): void {
    if (this.#isRunning) this.#afterAsLong(at, () => this.#endEffect())
    else this.#endLater(at)
  }

  /** Makes a lease or reservation that it does not have yet last as long as the recorded one. */
  #endLater(at: number): void {
    if (!this.#isOver) this.#endsAfter = this.#millisUntil(at)
  }

  /** How long its lease or reservation lasted in the recording, if it ended at `end`. */
  #millisUntil(end: number): number {
    return Math.max(0, end - (this.outcome.leasedAt ?? this.asked.at))
  }

  /** Calls `end` when as much time has passed since its beginning as in the recording at `at`. */
  #afterAsLong(at: number, end: () => void): void {
    const left = (this.#begunAt ?? this.#time.now) + this.#millisUntil(at) - this.#time.now
    if (left > 0) this.#time.after(left, end)
    else end()
  }

  /** Ends it, because the program interrupted it or its scope closed. */
  giveUp(): void {
    if (!this.#all.pending.has(this)) {
      this.#isOver = true
      this.#endLease("scopeClosed")
      return
    }
    if (this.#request === undefined || this.#isOver) return
    if (this.answerHandlers !== undefined) this.#inputs.handlersEnded(this.#request, false, false)
    this.#fail(undefined)
  }

  /** Handles its recorded failure: ends its lease or reservation at once, since the recording does not say how long it would last. */
  refuseLate(): void {
    if (this.#isRunning) this.#endEffect()
    else if (!this.#endLease("released") && !this.#isOver) this.#endsAfter = 0
  }

  isOfPool(pool: ReplayedPool | undefined): boolean {
    return pool === undefined || this.#request?.source.pool === pool
  }
}

/** What the requests of a simulation share. */
interface Shared {
  readonly trace: Trace
  readonly time: VirtualTime
  readonly tally: Tally
  readonly failures: Array<Failed>
  readonly endsWith: "failure" | "wait" | undefined
}

export class SimulatedRequests {
  /** The requests that the recording may have more events of, by number. */
  readonly known = new Map<number, SimulatedRequest>()
  /** The requests that have begun and not ended. */
  readonly pending = new Set<SimulatedRequest>()
  /** The index of the current event. */
  place = -1
  readonly trace: Trace
  readonly time: VirtualTime
  readonly #shared: Shared
  /** Requests that waited for a reservation, and start now. */
  #ready: Array<SimulatedRequest> = []

  constructor(shared: Shared) {
    this.trace = shared.trace
    this.time = shared.time
    this.#shared = shared
  }

  /** Whether the search is over: a request has failed, or waited. */
  get isOver(): boolean {
    const { endsWith, failures, tally } = this.#shared
    return endsWith !== undefined && (failures.length > 0 || (endsWith === "wait" && tally.totals.waits > 0))
  }

  /** Makes a request, at its recorded input or else at its first event. */
  make(asked: OfRequest, memory: SimulatedMemory): SimulatedRequest {
    const made = new SimulatedRequest(asked, memory, this)
    this.known.set(asked.request, made)
    made.make()
    return made
  }

  /** Starts requests whose reservation has begun or failed, one after the other: each may add requests that wait for it. */
  start(requests: ReadonlyArray<SimulatedRequest>): void {
    const isStarting = this.#ready.length > 0
    for (const one of requests) this.#ready.push(one)
    if (isStarting) return
    for (let at = 0; at < this.#ready.length; at++) this.#ready[at]!.start()
    this.#ready = []
  }

  forget(replayed: SimulatedRequest): void {
    const { request } = replayed.asked
    if (this.known.get(request) === replayed) this.known.delete(request)
  }

  failed({ asked }: SimulatedRequest, why: Failed["why"]): void {
    this.#shared.failures.push({ asked, why, at: this.time.now })
  }

  /** Fails the requests that are still waiting at the end, unless the search is over. */
  finish(): void {
    for (const one of this.isOver ? [] : this.pending) {
      if (one.outcome.wasServed && !one.isRunning) this.failed(one, "NeverServed")
    }
  }
}
