/**
 * Gives the machine again what it was given, in the order of a recording. What it does must then be what the recording has.
 *
 * A hit and the end of a lease are inputs by themselves: their events say all of them. Of each other input a recording has a row, but for
 * what was given before its first event. One of another program, or of another version of the pool, is not replayed exactly.
 *
 * @internal
 */
import type { Ending, PoolOutput } from "../../../domain/pool/machine/PoolMachine.ts"
import type { RequestState } from "../../../domain/pool/machine/Request.ts"
import type { Reservation } from "../../../domain/pool/machine/Reservation.ts"
import type { Leased, OfRequest, Released } from "../../../domain/pool/PoolEvent.ts"
import { EventRow } from "../../recording/EventRow.ts"
import * as Shape from "../../recording/EventShape.ts"
import { namesOf, type Recording } from "../../recording/RecordingModel.ts"
import type { MachineRequest } from "../MachineRequest.ts"
import { reasonOf, refusal } from "../Refusal.ts"
import { ReplayedMemories } from "../ReplayedMemories.ts"
import { contentsOf } from "../ReplayedMemory.ts"
import { Placeholder } from "../ReplayedSource.ts"
import type { ReplayPlan } from "../ReplayOptions.ts"
import type { Failed, Reason } from "../ReplayReport.ts"
import { Tally } from "../Tally.ts"
import { ExactMemory } from "./ExactMemory.ts"
import { ExactRequest } from "./ExactRequest.ts"
import { Difference, Journal } from "./Journal.ts"

const has = (sum: number, bit: number): boolean => (sum & bit) !== 0

/** Of so many memories that have closed more may be told. */
const mostClosed = 256

/** Others act within a step of the machine, and these within a step of their own, but not deeper. */
const deepest = 8

export class ExactReplay {
  readonly tally: Tally
  readonly failures: Array<Failed> = []
  readonly #journal: Journal
  readonly #names: ReturnType<typeof namesOf>
  readonly #memories: ReplayedMemories<ExactMemory>
  readonly #requests = new Map<number, ExactRequest>()
  /** The last memories that have closed: fibers of some may still end their requests. */
  readonly #closed: Array<number> = []
  /** A request may outlive the reservation that it is made under. */
  readonly #reservations = new Map<number, Reservation>()
  #now = 0
  #depth = 0

  constructor(recording: Recording, plan: ReplayPlan) {
    this.#journal = new Journal(recording, true)
    this.#names = namesOf(recording)
    this.tally = new Tally(() => this.#timeNow())
    const row = new EventRow()
    this.#memories = new ReplayedMemories({
      plan,
      contentOf: contentsOf(recording),
      make: (memory, content) => new ExactMemory(memory, content, this.#journal, (number) => this.#untilDone(number)),
      tally: this.tally,
      now: () => this.#timeNow(),
      rows: {
        row,
        add: () => {
          this.#demand(this.#journal.take(row))
        }
      }
    })
  }

  /** The time of the next row, or of the last one: the machine does now what that says. */
  #timeNow(): number {
    return this.#now = this.#journal.row?.at ?? this.#now
  }

  /** How many events it has done as recorded. */
  get passed(): number {
    return this.#journal.passed
  }

  /** Replays all events. Whether it does what the recording has, event by event. */
  run(): boolean {
    try {
      while (this.#journal.row !== undefined) this.#step()
    } catch (error) {
      if (!(error instanceof Difference)) throw error
    }
    // A recording may end within a step, and before the fiber of one that has failed hears of it.
    for (const { asked, request } of this.#requests.values()) {
      const why = reasonOf(request!)
      if (why !== undefined) this.failures.push({ asked, why, at: this.#now })
    }
    return this.#journal.isAtEnd
  }

  #demand(holds: boolean): asserts holds {
    if (!holds) throw new Difference()
  }

  /** What must be there. */
  #known<A>(one: A | undefined): A {
    this.#demand(one !== undefined)
    return one
  }

  /** What others have said when the machine goes on. */
  #untilDone(memory: number): number {
    this.#demand(++this.#depth < deepest)
    while (!this.#journal.findsNext(memory, "done")) {
      this.#demand(this.#journal.row !== undefined)
      this.#step()
    }
    this.#depth--
    return this.#journal.find(memory, "done")
  }

  #step(): void {
    const journal = this.#journal
    const { passed, row } = journal
    const memory = this.#known(this.#memories.of(row!.memory))
    this.#demand(!this.#memories.areTooMany)
    const entry = row!.entry(this.#names)
    switch (entry._tag) {
      case "Asked":
        journal.pass()
        return this.#asked(entry, memory)
      case "Input":
        journal.pass()
        return this.#input(entry, memory)
      case "Leased":
        this.#hit(entry, memory)
        break
      case "Released":
        this.#released(entry, memory)
        break
      case "Closed":
        memory.tellClosed()
        this.#closed.push(entry.memoryNumber)
        if (this.#closed.length > mostClosed) this.#memories.forget(this.#closed.shift()!)
        break
    }
    // Any other event follows from an input.
    this.#demand(journal.passed > passed)
  }

  #hit(event: Leased, memory: ExactMemory): void {
    memory.hit(new ExactRequest(event), memory.sourceOf(event.family, event.pool, undefined))
  }

  #released({ block, why }: Released, memory: ExactMemory): void {
    memory.endLease(this.#known(memory.leaseOf(block)), why)
  }

  #asked({ _tag, how, section, what, ...asked }: Shape.Asked, memory: ExactMemory): void {
    const { machine } = memory
    const known = this.#requests.get(asked.request)
    this.#demand(known === undefined || (what !== "tooLarge" && known.expected === "Asked"))
    const exact = known ?? this.#make(asked, memory, how, section)
    const request = exact.request!
    exact.inHandler = has(how, Shape.inHandler)
    exact.closed = has(how, Shape.ownerClosed)
    if (what === "made") return
    if (what === "tooLarge") {
      if (machine.tooLarge(request) !== undefined) this.#forget(exact, "LimitExceeded")
    } else if (what === "ask") this.#expect(exact, machine.ask(request))
    else if (machine.askOnce(request)) this.#forget(exact, reasonOf(request))
  }

  #make(asked: OfRequest, memory: ExactMemory, how: number, section: number | undefined): ExactRequest {
    const { budgetNumber, family, request: number, under, waitAtMost } = asked
    const isSection = has(how, Shape.isSection)
    this.#demand(!isSection || family === "")
    this.#demand(budgetNumber === undefined || memory.budgetOf(budgetNumber) !== undefined)
    const reservation = (number: number | undefined): Reservation | undefined =>
      number === undefined ? undefined : this.#known(this.#reservations.get(number))
    const onExhausted = has(how, Shape.waits) ? "wait" : "fail"
    const exact = new ExactRequest(asked)
    exact.request = memory.requestOf(exact, isSection ? "section" : family === "" ? "reservation" : "lease", {
      from: under === section ? undefined : reservation(under),
      section: reservation(section),
      patience: { onExhausted, waitAtMost, isPart: has(how, Shape.isPart) }
    })
    this.#requests.set(number, exact)
    if (exact.request.asks !== undefined) this.#reservations.set(number, exact.request.asks)
    return exact
  }

  /** The machine has said what the request does next. */
  #expect(exact: ExactRequest, output: PoolOutput): void {
    exact.expected = output
  }

  /** Nothing more is told of it. */
  #forget({ asked, request }: ExactRequest, why: Reason | undefined): void {
    if (why !== undefined) this.failures.push({ asked, why, at: this.#now })
    if (request!.state !== "abandoned") this.#requests.delete(asked.request)
  }

  #input(entry: Shape.Input, memory: ExactMemory): void {
    if (entry.request === undefined) return this.#ofMemory(entry, memory)
    const exact = this.#known(this.#requests.get(entry.request))
    const request = exact.request!
    exact.inHandler = has(entry.how, Shape.inHandler)
    exact.closed = has(entry.how, Shape.ownerClosed)
    this.#demand(isExpected(entry.what, exact, request.state))
    this.#ofRequest(entry, memory, exact, request)
  }

  #ofRequest(
    { value, what, why }: Shape.Input,
    { machine }: ExactMemory,
    exact: ExactRequest,
    request: MachineRequest<ExactRequest>
  ): void {
    switch (what) {
      case "advance":
        return this.#expect(exact, machine.advance(request))
      case "reclaimedFor":
        return this.#expect(exact, machine.reclaimedFor(request))
      case "driverAsked":
        machine.driverAsked(request)
        return
      case "driverAnswered":
        machine.driverAnswered(request, new Placeholder(request.source))
        return this.#answered(exact)
      case "driverRefused":
        machine.driverRefused(request, why ?? "", () => refusal(why ?? "", request.asking))
        return this.#answered(exact)
      case "believes":
        machine.believes(request)
        return
      case "handlersEnded":
        machine.handlersEnded(request, has(value, 1), has(value, 2))
        exact.expected = "HandlersEnded"
        return
      case "handlersAnswered":
        return this.#expect(exact, machine.handlersAnswered(request, value === 1))
      case "timedOut":
        return this.#expect(exact, machine.timedOut(request, value))
      case "retryAll":
        return this.#expect(exact, machine.retryAll(request, value))
      case "begunAll":
        return machine.begunAll(request)
      case "scopeClosed":
        return machine.scopeClosed(request)
      case "promote":
        return machine.promote(request)
      case "failDeadlocked":
        return machine.failDeadlocked(request, [])
      case "ended":
      case "reservationEnded": {
        const ending: Ending = {
          isFailure: has(value, 1),
          isInterrupted: has(value, 2),
          reason: why as Reason | undefined
        }
        const reason = ending.isInterrupted ? undefined : reasonOf(request)
        this.#demand((request.asks === undefined) === (what === "ended"))
        if (what === "ended") machine.ended(request, ending)
        else machine.reservationEnded(request, ending)
        return this.#forget(exact, reason)
      }
      default:
        this.#demand(false)
    }
  }

  /** One whose fiber is gone has nothing to do with its answer. */
  #answered(exact: ExactRequest): void {
    exact.expected = "Answered"
    if (exact.request!.isOver) this.#forget(exact, undefined)
  }

  #ofMemory({ budgetNumber, pool, queue, value2, value3, value, what }: Shape.Input, memory: ExactMemory): void {
    const { machine } = memory
    const account = () => this.#known(memory.accountOf(budgetNumber, value2))
    switch (what) {
      case "serve":
        return machine.serve(account().queue)
      case "raiseJobs":
        return machine.raiseJobs(account().queue)
      case "limitJobs":
        return machine.limitJobs(account().queue, memory)
      case "setHandlers":
        return machine.setHandlers(account(), value === 1)
      case "setBudgetLimit":
        this.#demand(value >= 0)
        return machine.setBudgetLimit(this.#known(memory.budgetOf(budgetNumber)), value)
      case "setMaxBytes":
        this.#demand(value >= 0)
        return memory.setMaxBytes(value)
      case "setHolding":
        return machine.setHolding(value === 1)
      case "trim":
        return memory.trim(value2 === 1 ? undefined : value, queue)
      case "evictForOthers":
        return machine.evictForOthers(value)
      case "startIdleClock":
        return machine.startIdleClock()
      case "idleStep":
        this.#demand(Number.isInteger(value) && value > 0)
        machine.idleStep(value)
        return
      case "reclaimed":
        return machine.reclaimed(value)
      case "retracting":
        return machine.retracting(() => this.#untilDone(memory.number))
      case "loseDevice":
        memory.seeLost()
        return machine.loseDevice()
      case "close":
      case "closePool":
        this.#demand(!machine.closed)
        return memory.close(what === "close" ? undefined : pool ?? "", budgetNumber)
      case "lost":
        return memory.seeLost()
      case "queues":
        memory.namesQueues = value === 1
        return
      case "elsewhere":
        return memory.seeOthers(value, value2 === 1, value3 === 1)
      case "outer":
        return memory.seeLimits(value, value2, value3)
      case "unusable":
        this.#known(memory.leaseOf(value)).block!.value.recyclable = false
        return
      default:
        this.#demand(false)
    }
  }
}

const isInQueue = ({ request }: ExactRequest): boolean => request!.inQueue

/** Whether the fiber, the driver or the handlers of a request may tell this next: a file may have anything. */
const isExpected = (what: Shape.Input["what"], exact: ExactRequest, state: RequestState): boolean => {
  const { expected, request } = exact
  switch (what) {
    case "advance":
      return state !== "asking" && state !== "withHandlers" && !request!.isOver
    case "reclaimedFor":
      return expected === "Reclaim" && state === "reclaiming"
    case "driverAsked":
      return expected === "AskDriver" && state === "searching" && request!.pending > 0
    case "driverAnswered":
    case "driverRefused":
      return request!.isCalling
    case "believes":
    case "handlersEnded":
      return expected === "AskHandlers"
    case "handlersAnswered":
      return expected === "HandlersEnded"
    case "timedOut":
      return expected === "HandlersEnded" || (expected === "Wait" && !request!.isCalling)
    case "retryAll":
      return expected === "Granted" && (state === "granted" || state === "searching") && request!.asks !== undefined
    case "scopeClosed":
    case "promote":
      return isInQueue(exact)
    case "failDeadlocked":
      return isInQueue(exact) && state === "queued"
    default:
      return !request!.isOver
  }
}
