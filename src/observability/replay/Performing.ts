/**
 * What the requests of a replay do, as the machine says, until they have to wait for the recording.
 *
 * Under the recorded policy the order of events decides who goes on: a request stands until the next event of the recording is its own,
 * whatever else has resumed it. One that has nothing more to tell goes on at once, and so does every one under another policy.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import {
  DeviceLost,
  DriverError,
  type GpuError,
  LimitExceeded,
  make as makeError,
  outOfMemory
} from "../../domain/GpuError.ts"
import type { PoolOutput } from "../../domain/pool/machine/PoolMachine.ts"
import { unavailable } from "../../domain/pool/machine/Request.ts"
import type { EventRow } from "../recording/EventRow.ts"
import type { Diff } from "./Diff.ts"
import type { MachineRequest } from "./MachineRequest.ts"
import type { MemoryReplay, Reclaiming, ReplayedMemory } from "./ReplayedMemory.ts"
import type { ReplayedRequest } from "./ReplayedRequest.ts"
import { Placeholder, type ReplayedBlock, type ReplayedPool } from "./ReplayedSource.ts"
import type { StepBound } from "./StepBound.ts"
import type { Tally } from "./Tally.ts"
import type { Trace } from "./Trace.ts"
import type { VirtualTime } from "./VirtualTime.ts"

export type Reason = GpuError["reason"]["_tag"]

/** A request that got nothing in the replay. */
export interface Failed {
  readonly replayed: ReplayedRequest
  /** The reason of its error, or that the recording ends before it was served. */
  readonly why: Reason | "NeverServed"
  readonly at: number
}

export interface PerformingOptions {
  readonly trace: Trace
  readonly isSame: boolean
  readonly tellsReclaims: boolean
  readonly time: VirtualTime
  readonly bound: StepBound
  readonly tally: Tally
  readonly endsWith: "failure" | "wait" | undefined
  /** Under the recorded policy. */
  readonly diff: Diff | undefined
  /** How many events of the recording have come. */
  readonly place: () => number
}

export const succeeded = { isFailure: false, isInterrupted: false, reason: undefined }

/** What a driver call failed with, which a recording knows the reason of. */
const refusal = (why: string, capacity: number): GpuError => {
  if (why === "OutOfMemory") return outOfMemory(capacity)
  if (why === "DeviceLost") return makeError(new DeviceLost({ backend: "recorded", detail: "as recorded" }))
  if (why === "LimitExceeded") {
    const limit = { operation: "Replay.run", requested: capacity, limitName: "the recorded limit", limit: capacity - 1 }
    return makeError(new LimitExceeded(limit))
  }
  const hint = "The driver refused this call when it was recorded."
  const call = { backend: "recorded", call: "allocate", codeName: why, code: undefined, log: "", commands: [], hint }
  return makeError(new DriverError(call))
}

export abstract class Performing implements MemoryReplay<ReplayedRequest> {
  readonly failures: Array<Failed> = []
  readonly isSame: boolean
  readonly tellsReclaims: boolean
  readonly time: VirtualTime
  protected readonly options: PerformingOptions
  /** The requests that have begun and not ended. */
  protected readonly pending = new Set<ReplayedRequest>()
  /** The one that goes on now. */
  #current: ReplayedRequest | undefined = undefined

  constructor(options: PerformingOptions) {
    this.options = options
    this.isSame = options.isSame
    this.tellsReclaims = options.tellsReclaims
    this.time = options.time
  }

  get toldNext(): EventRow | undefined {
    return this.options.diff?.next
  }

  /** The effect of a reservation or an exclusive section begins. */
  protected abstract begin(replayed: ReplayedRequest): void

  /** It has what it asked for, or has failed. */
  protected abstract ended(replayed: ReplayedRequest): void

  /** The replay may forget it. */
  abstract passed(replayed: ReplayedRequest): void

  abstract granted(replayed: ReplayedRequest, block: ReplayedBlock): void

  /** Does something for a request as the one that goes on. */
  protected within<A>(replayed: ReplayedRequest | undefined, act: () => A): A {
    const before = this.#current
    this.#current = replayed
    const result = act()
    this.#current = before
    return result
  }

  /** Lets a request go on that stands. False when it does not. */
  goOn(replayed: ReplayedRequest): boolean {
    const { goesOnWith } = replayed
    if (goesOnWith === undefined) return false
    replayed.goesOnWith = undefined
    this.within(replayed, () => this.perform(replayed, goesOnWith()))
    return true
  }

  /** A request can go on, and does so in this step unless the recording has it stand. */
  #resume(replayed: ReplayedRequest, goesOnWith: () => PoolOutput | undefined): void {
    replayed.goesOnWith = goesOnWith
    if (!this.isSame || replayed.isDone) this.goOn(replayed)
  }

  /** What the machine says, until the request has to wait for something or is over. */
  protected perform(replayed: ReplayedRequest, first: PoolOutput | undefined): void {
    const { bound } = this.options
    for (let output = first; output !== undefined && bound.step();) output = this.#does(replayed, output)
  }

  #does(replayed: ReplayedRequest, output: PoolOutput): PoolOutput | undefined {
    const { memory: { machine } } = replayed
    const request = replayed.request!
    switch (output) {
      case "Granted":
        if (request.asks === undefined) {
          machine.ended(request, succeeded)
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
  #fail(replayed: ReplayedRequest, reason: Reason | undefined): void {
    const { memory: { machine } } = replayed
    const request = replayed.request!
    const ending = { isFailure: true, isInterrupted: reason === undefined, reason }
    replayed.isRunning = false
    replayed.goesOnWith = undefined
    this.#stopWaiting(replayed)
    if (request.asks === undefined) machine.ended(request, ending)
    else machine.reservationEnded(request, ending)
    if (reason !== undefined) this.failed(replayed, reason)
    this.ended(replayed)
  }

  protected failed(replayed: ReplayedRequest, why: Failed["why"]): void {
    this.failures.push({ replayed, why, at: this.time.now })
  }

  /** The driver answers with an event of the recording, or after as long as there. */
  #askDriver(replayed: ReplayedRequest, request: MachineRequest<ReplayedRequest>): PoolOutput | undefined {
    const { outcome, memory, memory: { machine } } = replayed
    const capacity = machine.driverAsked(request)
    const recorded = outcome.calls?.[replayed.calls++]
    const why = recorded?.why
    const isTold = this.isSame && recorded !== undefined && recorded.answer >= this.options.place()
    const millis = this.isSame || recorded === undefined || recorded.answeredAt === Infinity
      ? 0
      : recorded.answeredAt - recorded.askedAt
    if (!isTold && millis <= 0) {
      this.#answer(request, capacity, this.#refusalOf(memory, why, capacity), -1)
      return machine.advance(request)
    }
    const answer = (why: string | undefined, block = -1): void => {
      calls.delete(interrupt)
      timer?.cancel()
      replayed.answer = undefined
      this.within(replayed, () => {
        this.#answer(request, capacity, why, block)
        if (!replayed.isOver) this.perform(replayed, machine.advance(request))
        else this.passed(replayed)
      })
    }
    const { pool: { calls } } = request.source
    const interrupt = (): void => answer("Interrupted")
    const timer = isTold
      ? undefined
      : this.time.after(millis, () => answer(this.#refusalOf(memory, why, capacity)))
    if (isTold) replayed.answer = answer
    // Of a recorded call it is known whether it was interrupted.
    if (!isTold || why === "Interrupted") calls.add(interrupt)
    return undefined
  }

  #answer(request: MachineRequest<ReplayedRequest>, capacity: number, why: string | undefined, block: number): void {
    const { source, replayed: { memory, memory: { machine } } } = request
    if (why === undefined) return machine.driverAnswered(request, new Placeholder(source, block))
    const ended = source.closed ? unavailable(request, "poolClosed") : memory.error
    const error = why === "Interrupted" ? ended ?? Exit.interrupt() : refusal(why, capacity)
    machine.driverRefused(request, why, () => error)
  }

  /** Where another policy asks for other blocks, the driver has as much memory as the refusals of the recording leave it. */
  #refusalOf(
    { core, trace: { peakBytes, refusedAt } }: ReplayedMemory<ReplayedRequest>,
    why: string | undefined,
    capacity: number
  ) {
    if (why !== undefined && why !== "OutOfMemory" && why !== "Interrupted") return why
    const most = Math.max(refusedAt - 1, peakBytes)
    return core.managedBytes + capacity > most && refusedAt < Infinity ? "OutOfMemory" : undefined
  }

  /** Memory is back when the recording says so. */
  #reclaim(replayed: ReplayedRequest, request: MachineRequest<ReplayedRequest>): PoolOutput | undefined {
    const { memory, memory: { core: { driverFrees: frees }, error, machine } } = replayed
    if (error !== undefined) this.#fail(replayed, error.reason._tag)
    else if (this.tellsReclaims) memory.reclaiming.add(replayed.reclaiming = { replayed, frees })
    else {
      machine.reclaimed(frees)
      return machine.reclaimedFor(request)
    }
    return undefined
  }

  /**
   * The memory is back for the first of those that wait for it as this request, which goes on in the same step. False when none does.
   */
  reclaimed(memory: ReplayedMemory<ReplayedRequest>, meant: ReplayedRequest | undefined): boolean {
    for (const one of memory.reclaiming) if (one.replayed === meant) return this.#isBack(memory, one, false)
    return false
  }

  /** The same for whoever waits first, and whom the recording does not let go on yet. */
  reclaimedFirst(memory: ReplayedMemory<ReplayedRequest>): boolean {
    for (const one of memory.reclaiming) return this.#isBack(memory, one, true)
    return false
  }

  #isBack(memory: ReplayedMemory<ReplayedRequest>, reclaiming: Reclaiming<ReplayedRequest>, stands: boolean): true {
    const { frees, replayed } = reclaiming
    memory.reclaiming.delete(reclaiming)
    this.within(replayed, () => {
      memory.machine.reclaimed(frees)
      if (replayed === undefined) return
      replayed.reclaiming = undefined
      // In the same step as memory is back, though it may be others who tell something next.
      const output = memory.machine.reclaimedFor(replayed.request!)
      if (stands) this.#resume(replayed, () => output)
      else this.perform(replayed, output)
    })
    return true
  }

  /**
   * Whether a memory has handlers. Under the recorded policy they are there when the next event of a request says that it asks them. Under
   * another one, between the first request that asked them and the last time.
   */
  hasHandlers(memory: number): boolean {
    const { place, trace } = this.options
    if (this.isSame) return this.#current?.outcome.asksAfter?.has(this.#current.told) === true
    const { firstHandlers, lastHandlers } = trace.memory(memory)
    return firstHandlers <= place() && place() <= lastHandlers
  }

  /** The handlers answer when the recording has it. */
  #askHandlers(replayed: ReplayedRequest, request: MachineRequest<ReplayedRequest>): PoolOutput | undefined {
    const { memory, memory: { machine }, outcome } = replayed
    const answer = (freed: boolean): PoolOutput => {
      this.#stopWaiting(replayed)
      machine.handlersEnded(request, freed, false)
      return machine.handlersAnswered(request, freed)
    }
    if (this.#isLate(replayed, request)) {
      machine.handlersEnded(request, false, false)
      return machine.timedOut(request, this.#waited(request))
    }
    if (!this.isSame && outcome.lastHandlers < this.options.place()) return answer(false)
    memory.asking.add(replayed)
    replayed.answerHandlers = (freed) =>
      this.within(replayed, () => {
        if (freed !== "failed") return this.perform(replayed, answer(freed))
        machine.handlersEnded(request, false, true)
        this.#fail(replayed, "DriverError")
      })
    this.#limitWait(replayed, request)
    return undefined
  }

  #waited({ waitingSince }: MachineRequest<ReplayedRequest>): number {
    return this.time.now - (waitingSince ?? this.time.now)
  }

  /** Whether the time of a request that asks handlers once more was over before. */
  #isLate({ asked: { waitAtMost } }: ReplayedRequest, request: MachineRequest<ReplayedRequest>): boolean {
    return !this.isSame && this.#waited(request) > waitAtMost
  }

  /** The handlers of the recording answer a request, or one of them fails, or it waits for them no longer. False when it has not asked. */
  answerHandlers(replayed: ReplayedRequest, freed: boolean): boolean {
    const { answerHandlers, outcome } = replayed
    if (answerHandlers === undefined) return false
    const isLast = this.isSame && replayed.told === outcome.beforeLastHandlers
    if (isLast && outcome.handlersEnd === "interrupted") this.interrupt(replayed)
    else if (isLast && outcome.handlersEnd === "failed") answerHandlers("failed")
    else if (!isLast || outcome.handlersEnd !== "late" || !this.endWait(replayed)) answerHandlers(freed)
    return true
  }

  /** Those who wait for handlers of a pool that has closed wait no longer. */
  handlersOver(memory: ReplayedMemory<ReplayedRequest>, pool: ReplayedPool | undefined): void {
    for (const replayed of Array.from(memory.asking)) {
      const { answerHandlers, request } = replayed
      if (pool !== undefined && request?.source.pool !== pool) continue
      this.#resume(replayed, () => {
        answerHandlers?.(false)
        return undefined
      })
    }
  }

  #wait(replayed: ReplayedRequest, request: MachineRequest<ReplayedRequest>): PoolOutput | undefined {
    const { memory: { machine } } = replayed
    if (!request.isWaiting) return machine.advance(request)
    request.resume = () =>
      this.#resume(replayed, () => {
        this.#stopWaiting(replayed)
        return machine.advance(request)
      })
    this.#limitWait(replayed, request)
    return undefined
  }

  /** Under the recorded policy its time is over when the recording says so. */
  #limitWait(replayed: ReplayedRequest, request: MachineRequest<ReplayedRequest>): void {
    const { asked: { waitAtMost } } = replayed
    if (waitAtMost === Infinity || waitAtMost === 0) return
    request.waitingSince ??= this.time.now
    replayed.isTimed = true
    const left = Math.max(0, waitAtMost - this.#waited(request))
    if (!this.isSame) replayed.timer = this.time.after(left, () => this.#timeOver(replayed))
  }

  #stopWaiting(replayed: ReplayedRequest): void {
    replayed.memory.asking.delete(replayed)
    replayed.isTimed = false
    replayed.answerHandlers = undefined
    replayed.timer?.cancel()
    replayed.timer = undefined
  }

  #timeOver(replayed: ReplayedRequest): void {
    const { memory: { machine } } = replayed
    const request = replayed.request!
    const isAsking = replayed.answerHandlers !== undefined
    request.resume = undefined
    replayed.goesOnWith = undefined
    this.#stopWaiting(replayed)
    this.within(replayed, () => {
      if (isAsking) machine.handlersEnded(request, false, false)
      this.perform(replayed, machine.timedOut(request, this.#waited(request)))
    })
  }

  /** The time that it may wait is over in the recording. */
  endWait(replayed: ReplayedRequest): boolean {
    const mayEnd = this.isSame && replayed.isTimed
    if (mayEnd) this.#timeOver(replayed)
    return mayEnd
  }

  protected interrupt(replayed: ReplayedRequest): void {
    const { answerHandlers, memory, memory: { machine }, request } = replayed
    if (request === undefined || replayed.isOver) return
    this.within(replayed, () => {
      if (answerHandlers !== undefined) machine.handlersEnded(request, false, false)
      if (replayed.reclaiming !== undefined) memory.reclaiming.delete(replayed.reclaiming)
      this.#fail(replayed, undefined)
    })
  }
}

/** Of the error of a request that failed; undefined where it was interrupted. */
const reasonOf = ({ failure }: MachineRequest<ReplayedRequest>): Reason | undefined => {
  const error = failure!()
  return "reason" in error ? error.reason._tag : undefined
}
