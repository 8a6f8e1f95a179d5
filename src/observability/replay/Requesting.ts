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
import type { GpuError } from "../../domain/GpuError.ts"
import type { OfRequest, Released } from "../../domain/pool/PoolEvent.ts"
import type { Block } from "../../services/lease/Lease.ts"
import type { Handler } from "../../services/pool/waiting/Handlers.ts"
import type { Listening } from "./ReplayEmitter.ts"
import type { Script } from "./Script.ts"
import type { Requests, SimulatedMemory } from "./SimulatedMemory.ts"
import { OnQueue } from "./SimulatedQueues.ts"
import { SimulatedBlock, type SimulatedLease } from "./SimulatedSource.ts"
import type { Tally } from "./Tally.ts"
import { CurrentTicket, Ticket } from "./Ticket.ts"
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
  readonly tally: Tally
  readonly endsWith: "failure" | "wait" | undefined
  /** How many events of the recording have come. */
  readonly place: () => number
  /** The program goes on in this step, where the policy is the recorded one. */
  readonly goOn: () => void
  /** Whether the next event of the recording says that its reservation has ended. */
  readonly endsNow: (ticket: Ticket) => boolean
}

/** More handlers than one answer as one. */
const removeNothing = (): void => {}

export class Requesting implements Listening {
  readonly tickets = new Map<number, Ticket>()
  readonly failures: Array<Failed> = []
  current: Ticket | undefined = undefined
  asking: Ticket | undefined = undefined
  hitting: Ticket | undefined = undefined
  told = 0
  readonly #options: RequestingOptions
  readonly #pending = new Set<Ticket>()
  readonly #handlers = new Map<SimulatedMemory, () => void>()

  constructor(options: RequestingOptions) {
    this.#options = options
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
    const around = asked.under === undefined ? undefined : this.tickets.get(asked.under)
    if (around?.isWaiting !== true) this.#start(ticket)
    else {
      around.behind ??= []
      around.behind.push(ticket)
      if (this.#options.isSame) { while (around.isWaiting && this.#options.time.runOne()); }
    }
    return ticket
  }

  /** The requests under a reservation that has begun, or failed. */
  #startBehind(ticket: Ticket): void {
    const { behind } = ticket
    if (behind === undefined) return
    ticket.behind = undefined
    for (const one of behind) if (!one.isOver) this.#start(one)
  }

  #goOn(): void {
    if (this.#options.isSame) this.#options.goOn()
  }

  #start(ticket: Ticket): void {
    const { memory } = ticket
    const context = this.#contextOf(ticket)
    const effect = ticket.fate.isReservation ? this.#reserve(ticket) : this.#lease(ticket)
    const outer = this.current
    this.current = ticket
    const fiber = memory.run(effect, context)
    this.current = outer
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return this.#ended(ticket, exit)
    ticket.fiber = fiber
    this.#pending.add(ticket)
    fiber.addObserver((exit) => {
      this.#ended(ticket, exit)
      this.#goOn()
    })
  }

  /** Most requests need nothing of their own. */
  #contextOf(ticket: Ticket): Context.Context<Scope.Scope> {
    const context = this.#usualContextOf(ticket)
    if (!this.#options.isSame || !ticket.fate.lostScope) return context
    ticket.scope = Scope.makeUnsafe()
    return Context.add(context, Scope.Scope, ticket.scope)
  }

  #usualContextOf(ticket: Ticket): Context.Context<Scope.Scope> {
    const { asked: { waitAtMost }, memory } = ticket
    const isTimed = waitAtMost > 0 && waitAtMost < Infinity
    const hasHandlers = this.#registersHandlers(ticket)
    if (!isTimed && !hasHandlers && !memory.hasQueues) return memory.context
    const own = memory.context.pipe(
      Context.add(CurrentTicket, ticket),
      Context.add(OnQueue, { queue: ticket.asked.queue, block: ticket.fate.block })
    )
    if (!isTimed) return own
    const { isSame, place, time } = this.#options
    const { fate } = ticket
    const sleeps = ticket.sleeps = new Set()
    const clock = time.clockOf(
      (timer) => void sleeps.add(timer),
      // The recorded timer may have been late, and says itself when it ran.
      () => isSame && Math.max(fate.lastRanOut, fate.lastWaited) >= place()
    )
    return Context.add(own, Clock.Clock, clock)
  }

  /** Who had handlers is known of those requests alone that asked them. */
  #registersHandlers({ asked: { budgetNumber, memoryNumber }, fate, memory }: Ticket): boolean {
    const { place, script } = this.#options
    const registered = this.#handlers.get(memory)
    const hasMore = script.memory(memoryNumber).lastHandlers >= place()
    if (registered !== undefined && !hasMore) {
      registered()
      this.#handlers.set(memory, removeNothing)
    }
    if (registered === undefined && fate.lastHandlers >= 0) {
      const removals = memory.lastResortsOf(budgetNumber).map(({ handlers }) => handlers.add(this.#handler))
      this.#handlers.set(memory, () => removals.forEach((remove) => remove()))
    }
    return hasMore
  }

  /** Answers when the recording does. */
  readonly #handler: Handler = () =>
    Effect.withFiber((fiber) => {
      const ticket = fiber.getRef(CurrentTicket)
      if (ticket === undefined || ticket.fate.lastHandlers < this.#options.place()) return Effect.succeed(false)
      const answer = this.#options.script.handlersFreed.get(this.told)
      if (answer?.at === this.#options.time.now) return Effect.succeed(answer.freed)
      return Effect.callback<boolean>((resume) => {
        ticket.answerHandlers = (freed) => {
          ticket.answerHandlers = undefined
          resume(Effect.succeed(freed))
        }
        return Effect.sync(() => {
          ticket.answerHandlers = undefined
        })
      })
    })

  #requestsOf({ asked, memory }: Ticket): Requests {
    const requests = memory.requestsFor(asked)
    const around = asked.under === undefined ? undefined : this.tickets.get(asked.under)?.reserved
    return around === undefined ? requests : requests.under({ from: around })
  }

  #lease(ticket: Ticket): Effect.Effect<SimulatedLease, GpuError, Scope.Scope> {
    const { asked: { callSite, family, label, size } } = ticket
    return this.#requestsOf(ticket).allocate(size, family, { label, callSite })
  }

  #reserve(ticket: Ticket): Effect.Effect<void, GpuError> {
    const { asked: { label, size, waitAtMost }, fate } = ticket
    const requests = this.#requestsOf(ticket)
    if (size === 0 && !fate.hasReserved) return requests.inTurn(this.#whileReserved(ticket, undefined))
    return requests.reserve(size, (inner) => this.#whileReserved(ticket, inner), {
      label,
      onExhausted: waitAtMost === 0 ? "fail" : "wait"
    })
  }

  /** The effect of a reservation. */
  #whileReserved(ticket: Ticket, inner: Requests | undefined): Effect.Effect<void> {
    const untilEnd = Effect.callback<void>((resume) => {
      ticket.endReservation = () => {
        ticket.endReservation = undefined
        resume(Effect.void)
      }
      if (ticket.endsAfter !== undefined) this.#options.time.after(ticket.endsAfter, () => ticket.endReservation?.())
    })
    return Effect.suspend(() => {
      ticket.reserved = inner?.terms.from
      ticket.isWaiting = false
      this.#startBehind(ticket)
      this.#goOn()
      return this.#options.isSame && this.#options.endsNow(ticket) ? Effect.void : untilEnd
    })
  }

  #ended(ticket: Ticket, exit: Exit.Exit<unknown, GpuError>): void {
    ticket.isOver = true
    ticket.isWaiting = false
    ticket.fiber = undefined
    this.#pending.delete(ticket)
    this.#startBehind(ticket)
    if (Exit.isSuccess(exit)) {
      if (!ticket.fate.isReservation) ticket.lease = exit.value as SimulatedLease
      return
    }
    const error = Cause.findErrorOption(exit.cause)
    if (Option.isSome(error)) this.#failed(ticket, error.value.reason._tag)
  }

  #failed(ticket: Ticket, why: Failed["why"]): void {
    this.failures.push({ ticket, why, at: this.#options.time.now })
  }

  granted(ticket: Ticket, { value }: Block): void {
    if (value instanceof SimulatedBlock) value.queue = ticket.asked.queue
    const { endsAfter } = ticket
    if (endsAfter === undefined) return
    this.#options.time.after(endsAfter, () => this.#end(ticket, "released"))
  }

  #end(ticket: Ticket, why: Released["why"]): boolean {
    const { live, memory } = ticket
    if (live === undefined) return false
    memory.endLease(live, why)
    return true
  }

  /** Its lease has ended in the recording. One that it gets later it has for as long. */
  release(ticket: Ticket, why: Released["why"], at: number): void {
    if (this.#end(ticket, why)) {
      // Nothing more is told of it.
      this.tickets.delete(ticket.asked.request)
    } else if (!ticket.isOver) {
      ticket.endsAfter = Math.max(0, at - (ticket.fate.leasedAt ?? ticket.asked.at))
    }
  }

  endReservation(ticket: Ticket, at: number): void {
    if (ticket.endReservation !== undefined) ticket.endReservation()
    // Its effect has not begun, and never did where it was recorded.
    else if (this.#options.isSame) ticket.fiber?.interruptUnsafe()
    else if (!ticket.isOver) ticket.endsAfter = Math.max(0, at - (ticket.fate.leasedAt ?? ticket.asked.at))
  }

  /** The program has interrupted it. */
  giveUp(ticket: Ticket): void {
    ticket.isOver ||= ticket.fiber === undefined
    if (ticket.scope !== undefined) return this.loseScope(ticket)
    if (ticket.fiber !== undefined) ticket.fiber.interruptUnsafe()
    else this.#end(ticket, "scopeClosed")
  }

  /** Its scope closes, if it has one of its own. */
  loseScope({ memory, scope }: Ticket): void {
    if (scope !== undefined && scope.state._tag !== "Closed") memory.run(Scope.close(scope, Exit.void))
  }

  /** It has failed in the recording. A lease that it has or gets here ends at once: nobody knows what it would have been for. */
  refuseLate(ticket: Ticket): void {
    if (!this.#end(ticket, "released") && !ticket.isOver) ticket.endsAfter = 0
  }

  /** The time that it may wait is over in the recording. */
  endWait({ sleeps }: Ticket): boolean {
    return this.#options.isSame && sleeps !== undefined && fireAll(sleeps)
  }

  /** It waits without an end, and failed in the recording: those who waited for each other were found. */
  endStandstill({ request }: Ticket): void {
    const waiter = request?.waiter
    if (waiter?.state === "waiting" && waiter.resume !== undefined) waiter.line.fail(waiter, [])
  }

  /** The recording is over. */
  finish(): void {
    for (const ticket of this.#pending) {
      if (ticket.fate.wasServed && ticket.endReservation === undefined) this.#failed(ticket, "NeverServed")
    }
  }
}
