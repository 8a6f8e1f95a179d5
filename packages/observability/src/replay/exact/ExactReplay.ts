/**
 * Gives the machine its recorded inputs again, in their order. The machine must then do what the recording has.
 *
 * The events of hits and ends of leases are inputs themselves. A recording has a row for every other input since its first event. A
 * recording of another program, or of another version of the pool, is not replayed exactly.
 *
 * @internal
 */
import type { OfRequest } from "effect-gpu-pool/PoolEvent"
import type { Reservation } from "effect-gpu-pool/Reservation"
import { EventRow } from "../../recording/EventRow.ts"
import * as Inputs from "../../recording/Inputs.ts"
import type { Recording } from "../../recording/RecordingModel.ts"
import { type MachineRequest, ReplayedRequest } from "../MachineRequest.ts"
import { reasonOf } from "../Refusal.ts"
import { contentsOf, type MemoryContent } from "../ReplayedMemory.ts"
import { Replayer } from "../Replayer.ts"
import type { MemoryPlan, ReplayPlan } from "../ReplayOptions.ts"
import type { Reason } from "../ReplayReport.ts"
import type { Rows } from "../RowPublisher.ts"
import { ExactMemory } from "./ExactMemory.ts"
import { demand, difference, Journal, known } from "./Journal.ts"

const has = (sum: number, bit: number): boolean => (sum & bit) !== 0

/** An input with any arguments. */
type AnyInput = (...args: ReadonlyArray<unknown>) => unknown

/** How many closed memories may have further events. */
const mostClosed = 256

/** A bound on how deep steps may be nested, when others act within a step of the machine. */
const deepest = 8

/** The recording has each of its inputs to the machine. */
class ExactRequest extends ReplayedRequest {
  request: MachineRequest | undefined = undefined

  /** Sets the state that the `how` of its last row has. */
  note(how: number): void {
    this.inHandler = has(how, Inputs.inHandler)
    this.closed = has(how, Inputs.ownerClosed)
  }
}

export class ExactReplay extends Replayer<ExactMemory> {
  /** What ended the replay, unless it came to the end or differed. */
  defect: unknown = undefined
  readonly #journal: Journal
  readonly #requests = new Map<number, ExactRequest>()
  /** The last memories that have closed: fibers of some may still end their requests. */
  readonly #closed: Array<number> = []
  /** Reservations by the numbers of their requests; kept, since requests made under one may outlive it. */
  readonly #reservations = new Map<number, Reservation>()
  #now = 0
  #depth = 0
  protected readonly rows: Rows = {
    row: new EventRow(),
    add: () => {
      const { row } = this.rows
      demand(this.#journal.take(row))
      this.tally.take(row)
    },
    withInputs: false
  }

  constructor(recording: Recording, plan: ReplayPlan) {
    super(recording, plan, contentsOf(recording))
    this.#journal = new Journal(recording, true)
  }

  protected make(plan: MemoryPlan, content: MemoryContent): ExactMemory {
    return new ExactMemory(plan, content, this.#journal, (number) => this.#untilDone(number))
  }

  /** The time of the next row, which the machine produces now, or else of the last one. */
  protected now(): number {
    return this.#now = this.#journal.row?.at ?? this.#now
  }

  /** Replays all events. Returns whether all were as recorded. */
  run(): boolean {
    try {
      this.begin()
      while (this.#journal.row !== undefined) this.#step()
    } catch (thrown) {
      // A file may have any input at any time, which the machine refuses by throwing; the replay of a real recording throws nothing else.
      if (thrown !== difference) this.defect = thrown
    }
    // A recording may end within a step, before the fiber of a failed request has resumed.
    for (const { asked, request } of this.#requests.values()) {
      const why = reasonOf(request!)
      if (why !== undefined) this.failures.push({ asked, why, at: this.#now })
    }
    return this.#journal.isAtEnd
  }

  /** Replays rows of others until the machine's step continues, and returns the value that it continues with. */
  #untilDone(memory: number): number {
    demand(++this.#depth < deepest)
    while (!this.#journal.findsNext(memory, "done")) {
      demand(this.#journal.row !== undefined)
      this.#step()
    }
    this.#depth--
    return this.#journal.find(memory, "done")
  }

  #step(): void {
    const journal = this.#journal
    const { passed, row } = journal
    const memory = known(this.memoryOf(row!.memory))
    demand(!this.hasTooMany)
    const entry = row!.entry(this.names)
    switch (entry._tag) {
      case "Asked":
        journal.pass()
        return this.#asked(entry, memory)
      case "Input":
        journal.pass()
        return this.#input(entry, memory)
      case "Leased":
        memory.hit(new ExactRequest(entry), memory.sourceOf(entry.family, entry.pool, undefined))
        break
      case "Released":
        memory.endLease(known(memory.leaseOf(entry.block, entry.offset ?? 0)), entry.why)
        break
      case "Closed":
        memory.publishClosed()
        this.#closed.push(entry.memoryNumber)
        if (this.#closed.length > mostClosed) this.forget(this.#closed.shift()!)
        break
    }
    // Any other event follows from an input.
    demand(journal.passed > passed)
  }

  #asked({ _tag, how, section, what, ...asked }: Inputs.Asked, memory: ExactMemory): void {
    const { machine } = memory
    const before = this.#requests.get(asked.request)
    demand(before === undefined || what !== "tooLarge")
    const exact = before ?? this.#make(asked, memory, how, section)
    const request = exact.request!
    exact.note(how)
    if (what === "made") return
    if (what === "tooLarge") {
      if (machine.tooLarge(request) !== undefined) this.#end(exact, "LimitExceeded")
    } else if (what === "ask") machine.ask(request)
    else if (machine.askOnce(request)) this.#end(exact, reasonOf(request))
  }

  #make(asked: OfRequest, memory: ExactMemory, how: number, section: number | undefined): ExactRequest {
    const { budgetNumber, family, request: number, under, waitAtMost } = asked
    const isSection = has(how, Inputs.isSection)
    demand(!isSection || family === "")
    demand(budgetNumber === undefined || memory.budgetOf(budgetNumber) !== undefined)
    const reservation = (number: number | undefined): Reservation | undefined =>
      number === undefined ? undefined : known(this.#reservations.get(number))
    const onExhausted = has(how, Inputs.waits) ? "wait" : "fail"
    const exact = new ExactRequest(asked)
    exact.request = memory.requestOf(exact, isSection ? "section" : family === "" ? "reservation" : "lease", {
      from: under === section ? undefined : reservation(under),
      section: reservation(section),
      waitPolicy: { onExhausted, waitAtMost, isPart: has(how, Inputs.isPart) }
    })
    this.#requests.set(number, exact)
    if (exact.request.asks !== undefined) this.#reservations.set(number, exact.request.asks)
    return exact
  }

  /** Forgets a request of which no more rows follow. */
  #end({ asked, request }: ExactRequest, why: Reason | undefined): void {
    if (why !== undefined) this.failures.push({ asked, why, at: this.#now })
    if (request!.state !== "abandoned") this.#requests.delete(asked.request)
  }

  #input(entry: Inputs.Input, memory: ExactMemory): void {
    const { request, what } = entry
    if (request !== undefined) return this.#ofRequest(entry, memory, known(this.#requests.get(request)))
    if (!Inputs.isOfMemory(what)) return memory.find(entry)
    const input = memory.machine[what] as AnyInput
    input.apply(memory.machine, Inputs.inputsOfMemories[what].read(entry, memory, undefined))
  }

  #ofRequest(entry: Inputs.Input, memory: ExactMemory, exact: ExactRequest): void {
    const { how, what } = entry
    const request = exact.request!
    exact.note(how)
    demand(Inputs.isOfRequest(what))
    const why = has(entry.value, Inputs.isInterrupted) ? undefined : reasonOf(request)
    const input = memory.machine[what] as AnyInput
    input.call(memory.machine, request, ...Inputs.inputsOfRequests[what].read(entry, memory, request))
    if (Inputs.isEnd(what)) this.#end(exact, why)
    // No fiber waits for the driver's answer to a request that is over.
    else if (request.isOver) this.#end(exact, undefined)
  }
}
