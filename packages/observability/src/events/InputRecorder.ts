/**
 * Records the inputs of the machine of a memory, and passes them on.
 *
 * @internal
 */
import { noOuterLimits } from "effect-gpu-pool/OuterLimits"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { PoolPort } from "effect-gpu-pool/PoolState"
import type { Request } from "effect-gpu-pool/Request"
import {
  type Asked,
  type Input,
  type InputFacts,
  inputsOfMemories,
  inputsOfRequests,
  isEnd
} from "../recording/Inputs.ts"

/** Writes the rows of inputs. */
export interface InputWriter {
  asked(what: Asked["what"], request: Request): void
  input(what: Input["what"], request: Request | undefined, facts: InputFacts): void
}

/** What the machine reads from outside of its memory. */
export type Outside = Pick<PoolPort, "hasSeveralQueues" | "lost" | "outer">

/** An input with any arguments. */
type AnyInput = (...args: ReadonlyArray<unknown>) => unknown
type AnyWrite = (...args: ReadonlyArray<unknown>) => InputFacts

/** Whether a request was asked for: that is a later step than its construction. */
const wasAsked = ({ arrived, passed, queue, state }: Request): boolean =>
  state !== "new" || arrived || passed > 0 || queue !== undefined

export class InputRecorder {
  readonly #writer: InputWriter
  readonly #outside: Outside
  #isLost = false
  #hasSeveralQueues = false
  /** The last recorded values of other memories' progress, and of the limits around them. */
  #elsewhere: ReadonlyArray<number> = []
  #outer: ReadonlyArray<number> = []

  constructor(writer: InputWriter, outside: Outside) {
    this.#writer = writer
    this.#outside = outside
  }

  /** Records what the machine has read from outside of itself. */
  found(what: Input["what"], value: number, value2 = 0): void {
    // Others have acted within the machine's current step.
    if (what === "done") this.note()
    this.#writer.input(what, undefined, { value, value2 })
  }

  /** Records what has changed outside of the memory since the last input. */
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

  /** Wraps the inputs of a machine: each is recorded before it is passed on. */
  of(inner: PoolInputs): PoolInputs {
    const passing: Partial<Record<keyof PoolInputs, AnyInput>> = {}
    const pass = (what: keyof PoolInputs, write: AnyInput): void => {
      const input = inner[what].bind(inner) as AnyInput
      passing[what] = (...args) => {
        this.note()
        write(...args)
        return input(...args)
      }
    }
    for (const what of ["ask", "askOnce", "tooLarge"] as const) {
      pass(what, (request) => this.#writer.asked(what, request as Request))
    }
    for (const [what, { write }] of entriesOf(inputsOfRequests)) {
      pass(what, (request, ...others) => {
        if (isEnd(what) && !wasAsked(request as Request)) this.#writer.asked("made", request as Request)
        this.#writer.input(what, request as Request, (write as AnyWrite)(...others))
      })
    }
    for (const [what, { write }] of entriesOf(inputsOfMemories)) {
      pass(what, (...args) => this.#writer.input(what, undefined, (write as AnyWrite)(...args)))
    }
    const retracting = (endLeases: () => void): void => {
      passing.retracting!(endLeases)
      this.found("done", 0)
    }
    return { ...passing as unknown as PoolInputs, retracting }
  }
}

const entriesOf = Object.entries as <K extends string, A>(table: Readonly<Record<K, A>>) => ReadonlyArray<[K, A]>
