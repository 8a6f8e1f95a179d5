/**
 * Which lines of the program each step of a trace ran, and at which line its fiber stood.
 *
 * A step of Effect's run loop evaluates one effect, then runs the code that waited for its result, up to the next
 * effect: functions that the effect has, those of `flatMap` and the like, and generators from one `yield*` to the next.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { GeneratorPlace, Position } from "./Inspector.ts"
import { outerLines } from "./OuterLines.ts"
import { printable } from "./PrintedText.ts"
import { type Owner, type Place, SourceFiles } from "./SourceFiles.ts"
import { type Frame, operationOf, type Step, type Trace } from "./Trace.ts"

/** Lines of a file. */
export interface Code {
  readonly place: Place
  readonly lines: ReadonlyArray<{ readonly line: number; readonly text: string }>
}

/** What the fiber's steps show about one of them. */
export interface Ran {
  /** The lines that ran, in the order in which they began. */
  readonly codes: ReadonlyArray<Code>
  /** Where the fiber stood before. */
  readonly at: Code | undefined
  /** The nearest place in a package, where that is inside of `at`. */
  readonly inside: Place | undefined
}

/** Effects that only store their function for later, or have none. */
const withoutCall: ReadonlySet<string> = new Set([
  "AsyncFinalizer",
  "Exit",
  "Failure",
  "Iterator",
  "OnExit",
  "SetInterruptible",
  "Success",
  "Yield",
  "YieldableError"
])

const onSuccess = "~effect/Effect/successCont"
const onFailure = "~effect/Effect/failureCont"

type Continuation = typeof onSuccess | typeof onFailure

/** The most lines shown of a function, and of a generator from one `yield*` to the next. */
const mostLines = 5

/** Of a longer line, only its beginning is shown, or what follows the place in it. */
const longLine = 500

export class ProgramCode {
  readonly #trace: Trace
  readonly #files: SourceFiles | undefined
  readonly #functions = new Map<object, Code | undefined>()

  constructor(trace: Trace) {
    this.#trace = trace
    this.#files = trace.inspector === undefined ? undefined : new SourceFiles(trace.inspector.scripts())
  }

  /** Whether the engine reports places. */
  get isKnown(): boolean {
    return this.#files !== undefined
  }

  /** `after` has the fiber's frames at its next step: empty if the fiber ended, `undefined` if they were not kept. */
  of(step: Step, after: ReadonlyArray<Frame> | undefined): Ran {
    const own = step.effect === undefined ? [] : functionsOf(step.effect)
    const calls = step.effect === undefined || withoutCall.has(operationOf(step.effect)) ? [] : own
    const codes = calls.flatMap((call) => this.#function(call, "program"))
    if (after !== undefined) codes.push(...this.#continued(step, after))
    const at = this.#at(step, calls, "program")
    const nearest = this.#at(step, calls, "package")
    const inside = nearest === undefined || at === undefined || nearest.place.owner === "program"
      ? undefined
      : nearest.place
    return { codes, at, inside }
  }

  /** The code that waited for the effect's result and ran with it. */
  *#continued(step: Step, after: ReadonlyArray<Frame>): Generator<Code> {
    const before = step.frames
    const kept = alike(before, after)
    const gone = before.slice(0, before.length - kept)
    if (step.effect !== undefined && operationOf(step.effect) === "Failure") {
      // Only the first frame that handles a failure runs.
      const handler = gone.at(-1)
      if (handler !== undefined && handler.generator === undefined) yield* this.#continuation(handler.entry, onFailure)
      return
    }
    for (const { entry, generator } of gone) {
      if (generator === undefined) yield* this.#continuation(entry, onSuccess)
      else yield* this.#toEnd(generator)
    }
    if (kept === 0) return
    const [from, to] = [before.at(-kept)?.generator, after.at(-kept)?.generator]
    if (from !== undefined && to !== undefined && !isSame(from.at, to.at)) yield* this.#moved(from, to.at)
  }

  #continuation(entry: object, path: Continuation): ReadonlyArray<Code> {
    if ((entry as { readonly [key in Continuation]?: unknown })[path] === undefined) return []
    const other = path === onSuccess ? onFailure : onSuccess
    return functionsOf(entry, other).flatMap((call) => this.#function(call, "program"))
  }

  /** Where a fiber stands: in a function, else in a generator, else before a function that it will call. */
  #at(step: Step, calls: ReadonlyArray<object>, least: Owner): Code | undefined {
    const inner = calls.flatMap((call) => this.#function(call, least))[0]
    if (inner !== undefined) return inner
    for (const { generator } of step.frames) {
      const place = generator === undefined ? undefined : this.#place(generator.at, least)
      if (place !== undefined) return { place, lines: linesOf(place, [place.line]) }
    }
    for (const { entry, generator } of step.frames) {
      if (generator !== undefined) continue
      const code = functionsOf(entry).flatMap((call) => this.#function(call, least))[0]
      if (code !== undefined) return code
    }
    return undefined
  }

  #place(position: Position, least: Owner): Place | undefined {
    const place = this.#files?.placeOf(position)
    return place !== undefined && isShown(place, least) ? place : undefined
  }

  #function(call: object, least: Owner): ReadonlyArray<Code> {
    if (!this.#functions.has(call)) this.#functions.set(call, this.#found(call))
    const code = this.#functions.get(call)
    return code === undefined || !isShown(code.place, least) ? [] : [code]
  }

  #found(call: object): Code | undefined {
    const position = this.#trace.inspector?.functionAt(call)
    const place = position === undefined ? undefined : this.#files?.placeOf(position)
    if (position === undefined || place === undefined) return undefined
    const lines = linesOf(place, outerLines(place.source, beginOf(place)))
    const isHeader = lines.length > 1 && lines[0]!.line === place.line && lines[0]!.text.endsWith("{")
    return { place, lines: isHeader ? lines.slice(1) : lines }
  }

  /** A generator ran from one `yield*` to another, or from its beginning to the first. */
  #moved({ at, begin }: GeneratorPlace, to: Position): ReadonlyArray<Code> {
    const from = this.#place(at, "program")
    const place = this.#place(to, "program")
    if (from === undefined || place === undefined) return []
    const between = this.#linesAfter(from, begin, place.line - 1)
    return [{ place, lines: linesOf(place, [...between, place.line]) }]
  }

  /** A generator ran from a `yield*` to its end, which is assumed to be at the next line that returns. */
  #toEnd({ at, begin }: GeneratorPlace): ReadonlyArray<Code> {
    const from = this.#place(at, "program")
    if (from === undefined) return []
    const rest = this.#linesAfter(from, begin)
    const returning = rest.findIndex((line) => /\b(?:return|throw)\b/.test(from.source[line - 1] ?? ""))
    const lines = linesOf(from, returning < 0 ? rest : rest.slice(0, returning + 1))
    const [first] = lines
    if (first === undefined) return []
    const column = (from.source[first.line - 1] ?? "").search(/\S/) + 1
    return [{ place: { ...from, line: first.line, column }, lines }]
  }

  /** The generator's own lines below a place in it. */
  #linesAfter(from: Place, begin: Position | undefined, last?: number): ReadonlyArray<number> {
    const start = begin === undefined ? undefined : this.#place(begin, "program")
    return start === undefined
      ? []
      : outerLines(start.source, beginOf(start), last).filter((line) => line > from.line)
  }
}

/** How many outer frames both lists have in common. */
const alike = (some: ReadonlyArray<Frame>, others: ReadonlyArray<Frame>): number => {
  let count = 0
  while (count < Math.min(some.length, others.length) && some.at(-1 - count)!.entry === others.at(-1 - count)!.entry) {
    count++
  }
  return count
}

const isShown = ({ owner }: Place, least: Owner): boolean =>
  owner === "program" || (owner === "package" && least === "package")

const isSame = (one: Position, other: Position): boolean =>
  one.script === other.script && one.line === other.line && one.column === other.column

const beginOf = ({ column, line }: Place): { readonly line: number; readonly column: number } => ({
  line,
  column: column - 1
})

/** The lines without comments and without lines of brackets only; if there are many, the first ones and the last. */
const linesOf = (place: Place, numbers: ReadonlyArray<number>): Code["lines"] => {
  const lines = numbers.flatMap((line) => {
    const whole = place.source[line - 1] ?? ""
    // A bundler may write all code on one line.
    const begin = line === place.line && whole.length > longLine ? place.column - 1 : 0
    const text = whole.slice(begin, begin + longLine).trim().replace(/\s+/g, " ")
    const isCode = /[\p{L}\p{N}]/u.test(text) && !/^(?:\/\/|\/\*|\*)/.test(text)
    return isCode ? [{ line, text: printable(text, longLine) }] : []
  })
  return lines.length <= mostLines ? lines : [...lines.slice(0, mostLines - 1), lines.at(-1)!]
}

/** The functions that an effect has itself, or in its options. */
const functionsOf = (effect: object, without?: string): ReadonlyArray<object> =>
  Object.entries(effect).flatMap(([key, value]) => {
    if (key === without) return []
    // A service is an effect and a class.
    if (typeof value === "function") return Effect.isEffect(value) ? [] : [value]
    if (key !== "~effect/Effect/args" || !isPlain(value)) return []
    return Object.values(value).filter((member) => typeof member === "function")
  })

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
