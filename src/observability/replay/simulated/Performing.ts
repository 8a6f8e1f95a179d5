/**
 * What the requests of a simulation do, as the machine says, until they have to wait for the driver, for handlers, or to be served.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { PoolOutput } from "../../../domain/pool/machine/PoolMachine.ts"
import { unavailable } from "../../../domain/pool/machine/Request.ts"
import type { MachineRequest } from "../MachineRequest.ts"
import { reasonOf, refusal } from "../Refusal.ts"
import { Placeholder, type ReplayedBlock, type ReplayedPool } from "../ReplayedSource.ts"
import type { Failed, Reason } from "../ReplayReport.ts"
import type { Tally } from "../Tally.ts"
import type { SimulatedMemory, Simulation } from "./SimulatedMemory.ts"
import type { SimulatedRequest } from "./SimulatedRequest.ts"
import type { StepBound } from "./StepBound.ts"
import type { Trace } from "./Trace.ts"
import type { VirtualTime } from "./VirtualTime.ts"

export interface PerformingOptions {
  readonly trace: Trace
  readonly time: VirtualTime
  readonly bound: StepBound
  readonly tally: Tally
  readonly endsWith: "failure" | "wait" | undefined
  /** How many events of the recording have come. */
  readonly place: () => number
}

export const succeeded = { isFailure: false, isInterrupted: false, reason: undefined }

export abstract class Performing implements Simulation<SimulatedRequest> {
  readonly failures: Array<Failed> = []
  readonly time: VirtualTime
  protected readonly options: PerformingOptions
  /** The requests that have begun and not ended. */
  protected readonly pending = new Set<SimulatedRequest>()
  constructor(options: PerformingOptions) {
    this.options = options
    this.time = options.time
  }

  /** The effect of a reservation or an exclusive section begins. */
  protected abstract begin(replayed: SimulatedRequest): void

  /** It has what it asked for, or has failed. */
  protected abstract ended(replayed: SimulatedRequest): void

  /** The replay may forget it. */
  abstract passed(replayed: SimulatedRequest): void

  abstract granted(replayed: SimulatedRequest, block: ReplayedBlock): void

  /** What the machine says, until the request has to wait for something or is over. */
  protected perform(replayed: SimulatedRequest, first: PoolOutput | undefined): void {
    const { bound } = this.options
    for (let output = first; output !== undefined && bound.step();) output = this.#does(replayed, output)
  }

  #does(replayed: SimulatedRequest, output: PoolOutput): PoolOutput | undefined {
    const { memory: { inputs } } = replayed
    const request = replayed.request!
    switch (output) {
      case "Granted":
        if (request.asks === undefined) {
          inputs.ended(request, succeeded)
          replayed.lease = request.granted
          this.ended(replayed)
        } else this.begin(replayed)
        return undefined
      case "Failed":
        this.#fail(replayed, reasonOf(request))
        return undefined
      case "AskDriver":
        return this.#askDriver(replayed, request)
      case "Reclaim":
        return this.#reclaim(replayed, request)
      case "AskHandlers":
        return this.#askHandlers(replayed, request)
      case "Wait":
        return this.#wait(replayed, request)
    }
  }

  /** Its fiber ends without what it asked for. */
  #fail(replayed: SimulatedRequest, reason: Reason | undefined): void {
    const { memory: { inputs } } = replayed
    const request = replayed.request!
    const ending = { isFailure: true, isInterrupted: reason === undefined, reason }
    replayed.isRunning = false
    this.#stopWaiting(replayed)
    if (request.asks === undefined) inputs.ended(request, ending)
    else inputs.reservationEnded(request, ending)
    if (reason !== undefined) this.failed(replayed, reason)
    this.ended(replayed)
  }

  protected failed(replayed: SimulatedRequest, why: Failed["why"]): void {
    this.failures.push({ asked: replayed.asked, why, at: this.time.now })
  }

  /** The driver answers after as long as in the recording. */
  #askDriver(replayed: SimulatedRequest, request: MachineRequest<SimulatedRequest>): PoolOutput | undefined {
    const { outcome, memory, memory: { inputs } } = replayed
    const capacity = inputs.driverAsked(request)
    const recorded = outcome.calls?.[replayed.calls++]
    const why = recorded?.why
    const millis = recorded === undefined || recorded.answeredAt === Infinity
      ? 0
      : recorded.answeredAt - recorded.askedAt
    if (millis <= 0) {
      this.#answer(request, capacity, this.#refusalOf(memory, why, capacity))
      return inputs.advance(request)
    }
    const answer = (why: string | undefined): void => {
      calls.delete(interrupt)
      timer.cancel()
      this.#answer(request, capacity, why)
      if (!replayed.isOver) this.perform(replayed, inputs.advance(request))
      else this.passed(replayed)
    }
    const { pool: { calls } } = request.source
    const interrupt = (): void => answer("Interrupted")
    const timer = this.time.after(millis, () => answer(this.#refusalOf(memory, why, capacity)))
    calls.add(interrupt)
    return undefined
  }

  #answer(request: MachineRequest<SimulatedRequest>, capacity: number, why: string | undefined): void {
    const { source, replayed: { memory, memory: { inputs } } } = request
    if (why === undefined) return inputs.driverAnswered(request, new Placeholder(source))
    const ended = source.closed ? unavailable(request, "poolClosed") : memory.error
    const error = why === "Interrupted" ? ended ?? Exit.interrupt() : refusal(why, capacity)
    inputs.driverRefused(request, why, () => error)
  }

  /** Where another policy asks for other blocks, the driver has as much memory as the refusals of the recording leave it. */
  #refusalOf(
    { core, trace: { peakBytes, refusedAt } }: SimulatedMemory<SimulatedRequest>,
    why: string | undefined,
    capacity: number
  ) {
    if (why !== undefined && why !== "OutOfMemory" && why !== "Interrupted") return why
    const most = Math.max(refusedAt - 1, peakBytes)
    return core.managedBytes + capacity > most && refusedAt < Infinity ? "OutOfMemory" : undefined
  }

  /** Memory is back at once: files of other tools do not tell when. */
  #reclaim(replayed: SimulatedRequest, request: MachineRequest<SimulatedRequest>): PoolOutput | undefined {
    const { memory, memory: { error, inputs } } = replayed
    if (error === undefined) {
      memory.reclaim()
      return inputs.reclaimedFor(request)
    }
    this.#fail(replayed, error.reason._tag)
    return undefined
  }

  /** The handlers answer when the recording has it. */
  #askHandlers(replayed: SimulatedRequest, request: MachineRequest<SimulatedRequest>): PoolOutput | undefined {
    const { memory, memory: { inputs }, outcome } = replayed
    const answer = (freed: boolean): PoolOutput => {
      this.#stopWaiting(replayed)
      inputs.handlersEnded(request, freed, false)
      return inputs.handlersAnswered(request, freed)
    }
    if (this.#isLate(replayed, request)) {
      inputs.handlersEnded(request, false, false)
      return inputs.timedOut(request, this.#waited(request))
    }
    if (outcome.lastHandlers < this.options.place()) return answer(false)
    memory.asking.add(replayed)
    replayed.answerHandlers = (freed) => this.perform(replayed, answer(freed))
    this.#limitWait(replayed, request)
    return undefined
  }

  #waited({ waitingSince }: MachineRequest<SimulatedRequest>): number {
    return this.time.now - (waitingSince ?? this.time.now)
  }

  /** Whether the time of a request that asks handlers once more was over before. */
  #isLate({ asked: { waitAtMost } }: SimulatedRequest, request: MachineRequest<SimulatedRequest>): boolean {
    return this.#waited(request) > waitAtMost
  }

  /** Those who wait for handlers of a pool that has closed wait no longer. */
  handlersOver(memory: SimulatedMemory<SimulatedRequest>, pool: ReplayedPool | undefined): void {
    for (const { answerHandlers, request } of Array.from(memory.asking)) {
      if (pool === undefined || request?.source.pool === pool) answerHandlers?.(false)
    }
  }

  #wait(replayed: SimulatedRequest, request: MachineRequest<SimulatedRequest>): PoolOutput | undefined {
    const { memory: { inputs } } = replayed
    if (!request.isWaiting) return inputs.advance(request)
    request.resume = () => {
      this.#stopWaiting(replayed)
      this.perform(replayed, inputs.advance(request))
    }
    this.#limitWait(replayed, request)
    return undefined
  }

  #limitWait(replayed: SimulatedRequest, request: MachineRequest<SimulatedRequest>): void {
    const { asked: { waitAtMost } } = replayed
    if (waitAtMost === Infinity || waitAtMost === 0) return
    request.waitingSince ??= this.time.now
    const left = Math.max(0, waitAtMost - this.#waited(request))
    replayed.timer = this.time.after(left, () => this.#timeOver(replayed))
  }

  #stopWaiting(replayed: SimulatedRequest): void {
    replayed.memory.asking.delete(replayed)
    replayed.answerHandlers = undefined
    replayed.timer?.cancel()
    replayed.timer = undefined
  }

  #timeOver(replayed: SimulatedRequest): void {
    const { memory: { inputs } } = replayed
    const request = replayed.request!
    const isAsking = replayed.answerHandlers !== undefined
    request.resume = undefined
    this.#stopWaiting(replayed)
    if (isAsking) inputs.handlersEnded(request, false, false)
    this.perform(replayed, inputs.timedOut(request, this.#waited(request)))
  }

  protected interrupt(replayed: SimulatedRequest): void {
    const { answerHandlers, memory: { inputs }, request } = replayed
    if (request === undefined || replayed.isOver) return
    if (answerHandlers !== undefined) inputs.handlersEnded(request, false, false)
    this.#fail(replayed, undefined)
  }
}
