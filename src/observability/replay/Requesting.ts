/**
 * The requests of a replay: how they are made, and how they end.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { DriverError, type GpuError, make as makeError } from "../../domain/GpuError.ts"
import type { OfRequest, Released } from "../../domain/pool/PoolEvent.ts"
import type { Block } from "../../services/lease/Lease.ts"
import { CurrentSection } from "../../services/pool/CurrentReservations.ts"
import type { Handlers } from "../../services/pool/Handlers.ts"
import type { LeaseRequest } from "../../services/pool/LeaseRequest.ts"
import type { Listening } from "./ReplayEmitter.ts"
import type { Script } from "./Script.ts"
import { SimulatedHandlers } from "./simulated/SimulatedHandlers.ts"
import type { Requests, SimulatedMemory } from "./simulated/SimulatedMemory.ts"
import { OnQueue } from "./simulated/SimulatedQueues.ts"
import { SimulatedBlock, type SimulatedLease } from "./simulated/SimulatedSource.ts"
import type { Tally } from "./Tally.ts"
import { CurrentTicket, Ticket } from "./Ticket.ts"
import type { Turns } from "./Turns.ts"
import { fireAll, type VirtualTime } from "./VirtualTime.ts"

/** A request that got nothing in the replay. */
export interface Failed {
  readonly ticket: Ticket
  /** The reason of its error, or that the recording ends before it was served. */
  readonly why: GpuError["reason"]["_tag"] | "NeverServed"
  readonly at: number
}

export interface RequestingOptions {
  readonly script: Script
  readonly isSame: boolean
  readonly time: VirtualTime
  readonly turns: Turns
  readonly tally: Tally
  readonly endsWith: "failure" | "wait" | undefined
  /** How many events of the recording have come. */
  readonly place: () => number
}

/** A request in line that does nothing but wait. */
const waiterOf = ({ request }: Ticket): LeaseRequest | undefined => request?.state === "queued" ? request : undefined

/** Whether its next event says that it asks handlers. */
const isAsking = ({ fate, told }: Ticket): boolean => fate.asksAfter?.has(told) === true

/** How long a lease or a reservation that ended at a time has lasted in the recording. */
const millisOf = ({ asked, fate }: Ticket, end: number): number => Math.max(0, end - (fate.leasedAt ?? asked.at))

/** A handler failed in the recording, which does not say how. */
const handlerFailed = Exit.fail(
  makeError(
    new DriverError({
      backend: "recorded",
      call: "onOutOfMemory",
      codeName: "Failed",
      code: undefined,
      log: "",
      commands: [],
      hint: "A handler failed when this was recorded."
    })
  )
)

export class Requesting implements Listening {
  readonly tickets = new Map<number, Ticket>()
  readonly failures: Array<Failed> = []
  readonly turns: Turns
  asking: Ticket | undefined = undefined
  told = 0
  readonly #options: RequestingOptions
  readonly #pending = new Set<Ticket>()
  #turnsBegun = 0
  /** Those behind a reservation that start now. */
  #ready: Array<Ticket> = []
  /** What fails from now on fails since the replay ends. */
  #isFinished = false

  constructor(options: RequestingOptions) {
    this.#options = options
    this.turns = options.turns
  }

  /** How many requests have begun and not ended. */
  get length(): number {
    return this.#pending.size
  }

  /** Whether nothing more is looked for. */
  get isOver(): boolean {
    const { endsWith, tally } = this.#options
    return endsWith !== undefined && (this.failures.length > 0 || (endsWith === "wait" && tally.waits > 0))
  }

  /** Makes a request, when its first event has come. */
  make(asked: OfRequest, memory: SimulatedMemory): Ticket {
    const ticket = new Ticket(asked, this.#options.script.fateOf(asked.request), memory)
    this.tickets.set(asked.request, ticket)
    const next = this.#nextSilentTurn?.request
    if (next === asked.request) this.#turnsBegun++
    else if (next === asked.under || ticket.fate.isTurn) this.beginTurn(memory)
    const around = this.#around(ticket)
    if (around?.isWaiting !== true) this.#start(ticket)
    else {
      around.behind ??= []
      around.behind.push(ticket)
      while (around.isWaiting && this.turns.goOn(around));
    }
    return ticket
  }

  #around({ asked: { under } }: Ticket): Ticket | undefined {
    return under === undefined ? undefined : this.tickets.get(under)
  }

  /**
   * Begins the turn that runs now, if it has told nothing yet: one that did not wait tells nothing before it ends. Turns run one after the
   * other, so it is the next one to end.
   */
  beginTurn(memory: SimulatedMemory): void {
    const next = this.#nextSilentTurn
    if (next?.memoryNumber !== memory.plan.memory.number || !memory.memory.machine.sections.mayServe()) return
    this.make(next, memory)
  }

  get #nextSilentTurn(): OfRequest | undefined {
    return this.#options.script.silentTurns[this.#turnsBegun]
  }

  /** The requests under a reservation that has begun, or failed. One after the other: each may let those behind itself start. */
  #startBehind(ticket: Ticket): void {
    const { behind } = ticket
    if (behind === undefined) return
    ticket.behind = undefined
    const isStarting = this.#ready.length > 0
    for (const one of behind) this.#ready.push(one)
    if (isStarting) return
    for (let at = 0; at < this.#ready.length; at++) if (!this.#ready[at]!.isOver) this.#start(this.#ready[at]!)
    this.#ready = []
  }

  #start(ticket: Ticket): void {
    const { memory } = ticket
    const context = this.#contextOf(ticket)
    const effect = ticket.fate.isReservation ? this.#reserve(ticket) : this.#lease(ticket)
    const fiber = this.turns.take(ticket, () => memory.run(effect, context))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return this.#ended(ticket, exit)
    ticket.fiber = fiber
    this.#pending.add(ticket)
    fiber.addObserver((exit) => this.#ended(ticket, exit))
  }

  /** Most requests need nothing of their own. */
  #contextOf(ticket: Ticket): Context.Context<Scope.Scope> {
    const context = this.#usualContextOf(ticket)
    if (!this.#options.isSame || !ticket.fate.lostScope) return context
    ticket.scope = Scope.makeUnsafe()
    return Context.add(context, Scope.Scope, ticket.scope)
  }

  #usualContextOf(ticket: Ticket): Context.Context<Scope.Scope> {
    const { asked: { memoryNumber, waitAtMost }, fate, memory } = ticket
    const isTimed = waitAtMost > 0 && waitAtMost < Infinity
    const { isSame, script } = this.#options
    const hasHandlers = !isSame && script.memory(memoryNumber).lastHandlers >= 0
    const hasTurns = isSame && fate.events > 0
    if (!isTimed && !hasHandlers && !memory.hasQueues && !hasTurns) return this.#inTurnOf(ticket)
    const own = this.#inTurnOf(ticket).pipe(
      Context.add(CurrentTicket, ticket),
      Context.add(OnQueue, { queue: ticket.asked.queue, block: ticket.fate.block })
    )
    if (!isTimed) return own
    const sleeps = ticket.sleeps = new Set()
    const clock = this.#options.time.clockOf((timer) => void sleeps.add(timer))
    // Under the recorded policy its time is over when the recording says so.
    return Context.add(own, Clock.Clock, isSame ? { ...clock, currentTimeMillis: Exit.succeed(0) } : clock)
  }

  #inTurnOf(ticket: Ticket): Context.Context<Scope.Scope> {
    const { memory: { context } } = ticket
    const turn = this.#around(ticket)?.turn
    return turn === undefined ? context : Context.add(context, CurrentSection, turn)
  }

  /**
   * The handlers of a memory. Under the recorded policy they are there when the next event of a request says that it asks them. Under
   * another one, between the first request that asked them and the last time.
   */
  handlersOf(memory: number): Handlers {
    const { isSame, place, script } = this.#options
    const { firstHandlers, lastHandlers } = script.memory(memory)
    return new SimulatedHandlers(
      () => {
        const { current } = this.turns
        if (isSame) return current !== undefined && isAsking(current)
        return firstHandlers <= place() && place() <= lastHandlers
      },
      this.#handlersAnswer
    )
  }

  /** When the recording has it. */
  readonly #handlersAnswer: Effect.Effect<boolean, GpuError> = Effect.withFiber((fiber) => {
    const { isSame, place } = this.#options
    const ticket = fiber.getRef(CurrentTicket)
    if (ticket === undefined || (!isSame && ticket.fate.lastHandlers < place())) return Exit.succeed(false)
    return Effect.callback<boolean, GpuError>((resume) => {
      ticket.answerHandlers = (answer) => {
        ticket.answerHandlers = undefined
        this.turns.take(ticket, () => resume(answer))
      }
      return Effect.sync(() => {
        ticket.answerHandlers = undefined
      })
    })
  })

  /** The handlers of the recording answer a request, or one of them fails, or it waits for them no longer. False when it has not asked. */
  answerHandlers(ticket: Ticket, freed: boolean): boolean {
    const { answerHandlers, fate } = ticket
    if (answerHandlers === undefined) return false
    const isLast = this.#options.isSame && ticket.told === fate.beforeLastHandlers
    if (isLast && fate.handlersEnd === "interrupted") this.#interrupt(ticket)
    else if (isLast && fate.handlersEnd === "failed") answerHandlers(handlerFailed)
    else if (!isLast || fate.handlersEnd !== "late" || !this.endWait(ticket)) answerHandlers(Exit.succeed(freed))
    return true
  }

  #requestsOf(ticket: Ticket): Requests {
    const requests = ticket.memory.requestsFor(ticket.asked)
    const around = this.#around(ticket)?.reserved
    return around === undefined ? requests : requests.under({ from: around })
  }

  #lease(ticket: Ticket): Effect.Effect<SimulatedLease, GpuError, Scope.Scope> {
    const { asked: { callSite, family, label, size } } = ticket
    return this.#requestsOf(ticket).allocate(size, family, { label, callSite })
  }

  #reserve(ticket: Ticket): Effect.Effect<void, GpuError> {
    const { asked: { callSite, label, size, waitAtMost }, fate } = ticket
    const requests = this.#requestsOf(ticket)
    if (fate.isTurn) return requests.under({ label }).exclusively(this.#whileReserved(ticket, undefined))
    return requests.reserve(size, (inner) => this.#whileReserved(ticket, inner), {
      label,
      callSite,
      onExhausted: waitAtMost === 0 ? "fail" : "wait"
    })
  }

  /** The effect of a reservation. */
  #whileReserved(ticket: Ticket, inner: Requests | undefined): Effect.Effect<void> {
    const untilEnd = Effect.callback<void>((resume) => {
      ticket.endReservation = () => {
        ticket.endReservation = undefined
        this.turns.take(ticket, () => resume(Effect.void))
      }
      if (ticket.endsAfter !== undefined) this.#options.time.after(ticket.endsAfter, () => ticket.endReservation?.())
    })
    return Effect.withFiber((fiber) => {
      ticket.reserved = inner?.terms.from
      ticket.turn = fiber.getRef(CurrentSection)
      if (ticket.fate.isTurn && ticket.turn !== undefined) ticket.turn.number = ticket.asked.request
      ticket.isWaiting = false
      ticket.begunAt = this.#options.time.now
      this.#startBehind(ticket)
      return untilEnd
    })
  }

  #ended(ticket: Ticket, exit: Exit.Exit<unknown, GpuError>): void {
    ticket.isOver = true
    ticket.isWaiting = false
    ticket.fiber = undefined
    this.#pending.delete(ticket)
    this.#startBehind(ticket)
    const error = Exit.isSuccess(exit) ? Option.none() : Cause.findErrorOption(exit.cause)
    if (Option.isSome(error)) this.#failed(ticket, error.value.reason._tag)
    if (Exit.isSuccess(exit) && !ticket.fate.isReservation) ticket.lease = exit.value as SimulatedLease
    this.passed(ticket)
  }

  /** It is forgotten if it has ended, and the recording tells no more of it, as is known of all but those that were served at once. */
  passed(ticket: Ticket): void {
    const { asked, fate, isOver, live, request } = ticket
    if (!isOver || live !== undefined || request?.isCalling === true) return
    if (fate.last < 0 || fate.last > this.#options.place()) return
    if (this.tickets.get(asked.request) === ticket) this.tickets.delete(asked.request)
  }

  #failed(ticket: Ticket, why: Failed["why"]): void {
    if (this.#isFinished) return
    this.failures.push({ ticket, why, at: this.#options.time.now })
  }

  granted(ticket: Ticket, { value }: Block): void {
    if (value instanceof SimulatedBlock) value.queue = ticket.asked.queue
    const { endsAfter } = ticket
    ticket.begunAt = this.#options.time.now
    if (endsAfter === undefined) return
    this.#options.time.after(endsAfter, () => this.#end(ticket, "released"))
  }

  #end(ticket: Ticket, why: Released["why"]): boolean {
    const { live, memory } = ticket
    if (live === undefined) return false
    memory.endLease(live, why)
    return true
  }

  /** Its lease has ended in the recording. One that it has got later it has for as long. */
  release(ticket: Ticket, why: Released["why"], at: number): void {
    const end = (): void => {
      // Nothing more is told of it.
      if (this.#end(ticket, why)) this.tickets.delete(ticket.asked.request)
    }
    if (ticket.live !== undefined) this.#afterAsLong(ticket, at, end)
    else if (!ticket.isOver) ticket.endsAfter = millisOf(ticket, at)
  }

  /** Does something when so much time has passed since the beginning as in the recording. */
  #afterAsLong(ticket: Ticket, at: number, end: () => void): void {
    const { isSame, time } = this.#options
    const left = isSame ? 0 : (ticket.begunAt ?? time.now) + millisOf(ticket, at) - time.now
    if (left > 0) time.after(left, end)
    else end()
  }

  endReservation(ticket: Ticket, at: number): void {
    if (ticket.endReservation !== undefined) this.#afterAsLong(ticket, at, () => ticket.endReservation?.())
    // Its effect has not begun, and never did where it was recorded.
    else if (this.#options.isSame) this.#interrupt(ticket)
    else if (!ticket.isOver) ticket.endsAfter = millisOf(ticket, at)
  }

  /** The program has interrupted it. */
  giveUp(ticket: Ticket): void {
    ticket.isOver ||= ticket.fiber === undefined
    if (ticket.scope !== undefined) return this.loseScope(ticket)
    if (ticket.fiber !== undefined) this.#interrupt(ticket)
    else this.#end(ticket, "scopeClosed")
  }

  #interrupt(ticket: Ticket): void {
    this.turns.take(ticket, () => ticket.fiber?.interruptUnsafe())
  }

  /** Its scope closes, if it has one of its own. */
  loseScope({ memory, scope }: Ticket): void {
    if (scope !== undefined && scope.state._tag !== "Closed") memory.run(Scope.close(scope, Exit.void))
  }

  /** The request has failed in the recording. The replay ends its lease or reservation at once: the recording does not say how long it would last. */
  refuseLate(ticket: Ticket): void {
    if (ticket.endReservation !== undefined) ticket.endReservation()
    else if (!this.#end(ticket, "released") && !ticket.isOver) ticket.endsAfter = 0
  }

  /** The time that it may wait is over in the recording. */
  endWait(ticket: Ticket): boolean {
    const { sleeps } = ticket
    return this.#options.isSame && sleeps !== undefined && this.turns.take(ticket, () => fireAll(sleeps))
  }

  /** It waits for others that wait for it, and is the one to fail. */
  fail(ticket: Ticket): boolean {
    const waiter = waiterOf(ticket)
    waiter?.queue?.fail(waiter, [])
    return waiter !== undefined
  }

  /** Another one of those fails, and this one goes to the head of its line. */
  promote(ticket: Ticket): boolean {
    const { told } = ticket
    const waiter = waiterOf(ticket)
    waiter?.queue?.promote(waiter)
    return ticket.told > told
  }

  /** The recording is over, or nothing more is looked for. */
  finish(): void {
    const pending = this.isOver ? [] : this.#pending
    for (const ticket of pending) {
      if (ticket.fate.wasServed && ticket.endReservation === undefined) this.#failed(ticket, "NeverServed")
    }
    this.#isFinished = true
  }
}
