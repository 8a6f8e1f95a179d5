/**
 * Writes down what the machine of a memory is given, and passes it on.
 *
 * @internal
 */
import { noOuterLimits } from "../../domain/pool/machine/OuterLimits.ts"
import type { PoolInputs } from "../../domain/pool/machine/PoolInputs.ts"
import type { Ending } from "../../domain/pool/machine/PoolMachine.ts"
import type { PoolPort } from "../../domain/pool/machine/PoolState.ts"
import type { Account, Request } from "../../domain/pool/machine/Request.ts"
import type { ChargedBudget } from "../../domain/pool/machine/Reservation.ts"
import type { Asked, Input } from "../recording/EventShape.ts"

/** What an input says, as far as it says that. */
export interface InputFacts {
  readonly value?: number
  readonly value2?: number
  readonly value3?: number
  readonly pool?: string
  readonly budget?: ChargedBudget | undefined
  readonly queue?: string | undefined
  readonly why?: string | undefined
}

/** Writes the rows of inputs. */
export interface InputWriter {
  asked(what: Asked["what"], request: Request): void
  input(what: Input["what"], request: Request | undefined, facts: InputFacts): void
}

/** What the machine reads outside of its memory. */
export type Outside = Pick<PoolPort, "hasSeveralQueues" | "lost" | "outer">

type Notes = { readonly [K in Exclude<keyof PoolInputs, "retracting">]: (...args: Parameters<PoolInputs[K]>) => void }

const nothing: InputFacts = {}

const both = (first: boolean, second: boolean): number => Number(first) + 2 * Number(second)

const endingOf = ({ isFailure, isInterrupted, reason }: Ending): InputFacts => ({
  value: both(isFailure, isInterrupted),
  why: reason
})

const budgetOf = (account: Account | ChargedBudget): InputFacts =>
  "chain" in account ? { budget: account } : { value2: account.number }

/** A request is made, and then asked for in a step of its own. */
const wasAsked = ({ arrived, passed, queue, state }: Request): boolean =>
  state !== "new" || arrived || passed > 0 || queue !== undefined

export class InputRecorder {
  readonly #writer: InputWriter
  readonly #outside: Outside
  #isLost = false
  #hasSeveralQueues = false
  /** What it was last of others, and of the limits around both. */
  #elsewhere: ReadonlyArray<number> = []
  #outer: ReadonlyArray<number> = []

  constructor(writer: InputWriter, outside: Outside) {
    this.#writer = writer
    this.#outside = outside
  }

  /** What the machine found where it looks outside of itself. */
  found(what: Input["what"], value: number): void {
    // Others have acted within the step that goes on.
    if (what === "done") this.note()
    this.#writer.input(what, undefined, { value })
  }

  /** Writes down what has changed outside of the memory since the last input. */
  note(): void {
    const outside = this.#outside
    if (!this.#isLost && outside.lost() !== undefined) {
      this.#isLost = true
      this.found("lost", 1)
    }
    const { hasSeveralQueues } = outside
    if (hasSeveralQueues !== this.#hasSeveralQueues) {
      this.#hasSeveralQueues = hasSeveralQueues
      this.found("queues", Number(hasSeveralQueues))
    }
    const { outer } = outside
    if (outer === noOuterLimits) return
    const { attainableBytes, epoch, leftBytes, maxBytes, mayComeBack, othersAtWork } = outer
    this.#elsewhere = this.#changed("elsewhere", this.#elsewhere, [epoch, Number(mayComeBack), Number(othersAtWork)])
    this.#outer = this.#changed("outer", this.#outer, [leftBytes, attainableBytes, maxBytes])
  }

  #changed(what: Input["what"], before: ReadonlyArray<number>, now: ReadonlyArray<number>): ReadonlyArray<number> {
    if (now.every((value, at) => value === before[at])) return before
    const [value, value2, value3] = now as [number, number, number]
    this.#writer.input(what, undefined, { value, value2, value3 })
    return now
  }

  #input(what: Input["what"], request: Request | undefined, facts: InputFacts = nothing): void {
    this.note()
    this.#writer.input(what, request, facts)
  }

  #asked(what: Asked["what"], request: Request): void {
    this.note()
    this.#writer.asked(what, request)
  }

  /** What takes the place of the inputs of a machine. */
  of(inner: PoolInputs): PoolInputs {
    const plainOf = (what: Input["what"]) => (request: Request): void => this.#input(what, request)
    const asked = (what: Asked["what"]) => (request: Request): void => this.#asked(what, request)
    const timed = (what: Input["what"]) => (request: Request, value: number): void =>
      this.#input(what, request, { value })
    const ended = (what: Input["what"]) => (request: Request, ending: Ending): void => {
      if (!wasAsked(request)) this.#asked("made", request)
      this.#input(what, request, endingOf(ending))
    }
    const valued = (what: Input["what"]) => (value: number): void => this.#input(what, undefined, { value })
    const plain = (what: Input["what"]) => (): void => this.#input(what, undefined)
    const notes: Notes = {
      advance: plainOf("advance"),
      ask: asked("ask"),
      askOnce: asked("askOnce"),
      begunAll: plainOf("begunAll"),
      believes: plainOf("believes"),
      close: plain("close"),
      closePool: ({ service }, budget) => this.#input("closePool", undefined, { pool: service, budget }),
      driverAnswered: plainOf("driverAnswered"),
      driverAsked: plainOf("driverAsked"),
      driverRefused: (request, why) => this.#input("driverRefused", request, { why }),
      ended: ended("ended"),
      evictForOthers: valued("evictForOthers"),
      failDeadlocked: plainOf("failDeadlocked"),
      handlersAnswered: (request, freed) => this.#input("handlersAnswered", request, { value: Number(freed) }),
      handlersEnded: (request, freed, hasFailed) =>
        this.#input("handlersEnded", request, { value: both(freed, hasFailed) }),
      idleStep: valued("idleStep"),
      limitJobs: ({ account }) => this.#input("limitJobs", undefined, budgetOf(account)),
      loseDevice: plain("loseDevice"),
      promote: plainOf("promote"),
      raiseJobs: ({ account }) => this.#input("raiseJobs", undefined, budgetOf(account)),
      reclaimed: valued("reclaimed"),
      reclaimedFor: plainOf("reclaimedFor"),
      reservationEnded: ended("reservationEnded"),
      retryAll: timed("retryAll"),
      scopeClosed: plainOf("scopeClosed"),
      serve: ({ account }) => this.#input("serve", undefined, budgetOf(account)),
      setBudgetLimit: (budget, value) => this.#input("setBudgetLimit", undefined, { value, budget }),
      setHandlers: (account, some) =>
        this.#input("setHandlers", undefined, { value: Number(some), ...budgetOf(account) }),
      setHolding: (holds) => this.#input("setHolding", undefined, { value: Number(holds) }),
      setMaxBytes: valued("setMaxBytes"),
      startIdleClock: plain("startIdleClock"),
      timedOut: timed("timedOut"),
      tooLarge: asked("tooLarge"),
      trim: (_blocks, to, queue) =>
        this.#input("trim", undefined, { value: to ?? 0, value2: Number(to === undefined), queue })
    }
    const retracting = (giveBack: () => void): void => {
      this.#input("retracting", undefined)
      inner.retracting(giveBack)
      this.found("done", 0)
    }
    return { ...passing(inner, notes), retracting }
  }
}

/** Each input is written down before it is passed on. */
const passing = (inner: PoolInputs, notes: Notes): Omit<PoolInputs, "retracting"> => {
  const pass = <K extends keyof Notes>(what: K) => {
    const note: (...args: Parameters<PoolInputs[K]>) => void = notes[what]
    const input = inner[what].bind(inner) as (...args: Parameters<PoolInputs[K]>) => unknown
    const passed = (...args: Parameters<PoolInputs[K]>): unknown => {
      note(...args)
      return input(...args)
    }
    return [what, passed]
  }
  return Object.fromEntries((Object.keys(notes) as Array<keyof Notes>).map(pass)) as unknown as PoolInputs
}
