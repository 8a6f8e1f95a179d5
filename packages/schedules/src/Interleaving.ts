/**
 * The rows of a trace: which fiber ran which lines of the program, one after the other, and where the explorer stopped it.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { asText, cut, printable } from "./PrintedText.ts"
import { type Code, ProgramCode, type Ran } from "./ProgramCode.ts"
import { format, type Place } from "./SourceFiles.ts"
import { type Event, type Frame, operationOf, type Step, type Trace, type Traced } from "./Trace.ts"

/** Some steps of one fiber that run the same lines. */
export interface Row {
  /** The fiber in whose column it stands. */
  readonly fiber: number
  /** The fiber that it is about. */
  readonly actor: number
  readonly from: number
  to: number
  /** A title, and lines under it. */
  title: string
  lines: ReadonlyArray<string>
  readonly notes: Array<string>
  /** A deviation is near. Such rows are always shown. */
  isMarked: boolean
}

/** What concerns no fiber, or steps that are left out. */
export interface Across {
  readonly text: string
  readonly isMarked: boolean
}

export interface Interleaving {
  /** What the deviations did, in sentences. */
  readonly summary: ReadonlyArray<string>
  readonly fibers: ReadonlyArray<{ readonly number: number; readonly title: string; readonly origin: string }>
  readonly rows: ReadonlyArray<Row | Across>
}

/** As messages name a fiber: the first one is the program itself. */
export const nameOfFiber = (
  { name, number }: { readonly name: string | undefined; readonly number: number }
): string => {
  const title = name === undefined ? number === 1 ? "main" : undefined : cut(printable(name, 400), 40)
  return title === undefined ? `fiber ${number}` : `${title} (fiber ${number})`
}

const isAcross = (row: Row | Across): row is Across => "text" in row

class Rows {
  readonly all: Array<Row | Across> = []
  /** What each deviation did, in lines; written only for those that are shown. */
  readonly #deviations: Array<() => ReadonlyArray<string>> = []
  readonly #trace: Trace
  readonly #code: ProgramCode
  readonly #ran = new Map<Step, Ran>()
  /** The files by their names without folders. */
  readonly #named = new Map<string, Set<string>>()
  /** The fibers that have a column: the others stand in that of the fiber that started them. */
  readonly #columns = new Map<number, number>()
  #open: Row | undefined
  /** The choice that the next row follows. */
  #chosen: string | undefined

  constructor(trace: Trace) {
    this.#trace = trace
    this.#code = new ProgramCode(trace)
    const after = framesAfter(trace.events)
    for (const [index, event] of trace.events.entries()) {
      if (event.tag === "step") this.#ran.set(event, this.#code.of(event, after.get(index)))
      if (event.tag === "stop" && event.before !== undefined) {
        this.#ran.set(event.before, this.#code.of(event.before, undefined))
      }
    }
    const own = new Set<number>()
    for (const [{ fiber }, { at, codes }] of this.#ran) {
      for (const { place } of at === undefined ? codes : [at, ...codes]) {
        own.add(fiber)
        const name = nameIn(place.file)
        this.#named.set(name, (this.#named.get(name) ?? new Set()).add(place.file))
      }
    }
    for (const { by, name, number } of trace.fibers.values()) {
      const hasColumn = !this.#code.isKnown || own.has(number) || name !== undefined || by === undefined
      this.#columns.set(number, hasColumn ? number : this.#columns.get(by!.fiber) ?? number)
    }
    for (const [index, event] of trace.events.entries()) this.#add(event, index)
  }

  fibersOf(rows: Interleaving["rows"]): Interleaving["fibers"] {
    const shown = new Set(rows.flatMap((row) => isAcross(row) ? [] : [row.fiber]))
    return [...this.#trace.fibers.values()].filter(({ number }) => shown.has(number)).map((fiber) => ({
      number: fiber.number,
      title: nameOfFiber(fiber),
      origin: this.#originOf(fiber)
    }))
  }

  /** What the deviations did; of many the first and the last ones. */
  summary(): ReadonlyArray<string> {
    const left = this.#deviations.length - shownRows.deviations
    const half = shownRows.deviations / 2
    return this.#deviations.flatMap((lines, nth) => {
      if (left <= 0 || nth < half || nth >= half + left) return lines()
      return nth === half ? [`... ${left} more`] : []
    })
  }

  /** Says what a fiber that has not ended waits for. */
  mark(waiting: ReadonlyArray<number>): void {
    for (const number of waiting) {
      const row = this.#lastRow(number)
      if (row === undefined) continue
      row.notes.push("waits")
      row.isMarked = true
    }
  }

  #name(number: number): string {
    const fiber = this.#trace.fibers.get(number)
    return fiber === undefined ? `fiber ${number}` : nameOfFiber(fiber)
  }

  #originOf({ by }: Traced): string {
    if (by === undefined) return ""
    const step = lastStep(this.#trace.events.slice(0, by.event + 1), by.fiber)
    const place = step === undefined ? undefined : this.#standsAt(step)?.place
    return `from ${this.#name(by.fiber)}${place === undefined ? "" : ` at ${this.#shortly(place)}`}`
  }

  #add(event: Event, index: number): void {
    switch (event.tag) {
      case "step":
        return this.#step(event)
      case "stop":
        return this.#stop(event.before, event.path, index)
      case "choice":
        this.#chosen = event.path
        this.#open = undefined
        return
      case "time":
        return this.#time(event.millis)
      case "end":
        return this.#end(event.fiber, event.exit)
    }
  }

  #step(step: Step): void {
    const { codes } = this.#ran.get(step)!
    const { fiber } = step
    const row = this.#rowOf(step, codes)
    const open = this.#open?.actor === fiber ? this.#open : undefined
    if (
      open !== undefined && (this.#code.isKnown ? codes.every((code) => isShown(code, open)) : row.title === open.title)
    ) {
      open.to = step.step
      return
    }
    if (this.#code.isKnown && open?.lines.length === 0 && open.to - open.from < 2) {
      // A fiber begins with a step or two of Effect.
      Object.assign(open, { title: row.title, lines: row.lines, to: row.to })
      return
    }
    const chosen = this.#chosen
    if (chosen !== undefined) {
      row.notes.push(`goes first (${chosen})`)
      row.isMarked = true
      this.#deviations.push(() => [`${chosen}: ${this.#name(fiber)} went first, at ${row.title}`])
      this.#chosen = undefined
    }
    this.all.push(row)
    this.#open = row
  }

  #rowOf(step: Step, codes: ReadonlyArray<Code>): Row {
    const { fiber, span } = step
    const column = this.#columns.get(fiber) ?? fiber
    const shown = codes.length > 0 ? codes : [this.#ran.get(step)!.at].filter((code) => code !== undefined)
    const [first] = shown
    const who = column === fiber ? "" : `${this.#name(fiber)}: `
    const elsewhere = this.#code.isKnown ? "steps of packages" : describe(step.effect)
    const what = first === undefined ? elsewhere : this.#shortly(first.place)
    return {
      fiber: column,
      actor: fiber,
      from: step.step,
      to: step.step,
      title: `${who}${what}${span === undefined ? "" : ` in "${printable(span, 40)}"`}`,
      lines: textsOf(shown),
      notes: [],
      isMarked: false
    }
  }

  #stop(before: Step | undefined, path: string, index: number): void {
    this.#deviations.push(() => before === undefined ? [] : this.#stopped(before, path, index))
    if (before === undefined) return
    const { inside } = this.#ran.get(before)!
    const where = inside === undefined ? "" : `, in ${format(inside)}`
    const isOwn = this.#open?.actor === before.fiber
    const row = isOwn ? this.#open! : this.#rowOf(before, [])
    if (!isOwn) this.all.push(row)
    row.notes.push(`stopped here (${path})${where}`)
    row.isMarked = true
    this.#open = undefined
  }

  #time(millis: number): void {
    const chosen = this.#chosen
    this.all.push({
      text: `time passes: ${millis} ms${chosen === undefined ? "" : ` (${chosen})`}`,
      isMarked: chosen !== undefined
    })
    if (chosen !== undefined) this.#deviations.push(() => [`${chosen}: time passed early, to ${millis} ms`])
    this.#chosen = undefined
    this.#open = undefined
  }

  #end(number: number, exit: Exit.Exit<unknown, unknown>): void {
    this.#lastRow(number)?.notes.push(this.#ending(exit))
  }

  #ending(exit: Exit.Exit<unknown, unknown>): string {
    if (Exit.isSuccess(exit)) return "ends"
    const [reason] = exit.cause.reasons
    if (reason === undefined || Cause.isInterruptReason(reason)) {
      const by = [...this.#trace.fibers.values()].find(({ id }) => id === reason?.fiberId)
      return `is interrupted${by === undefined ? "" : ` by ${nameOfFiber(by)}`}`
    }
    return Cause.isFailReason(reason)
      ? `fails with ${textOf(reason.error)}`
      : `dies of ${textOf(reason.defect)}`
  }

  /** What one deviation did: where it stopped the fiber, and what the others ran before the fiber resumed. */
  #stopped(before: Step, path: string, index: number): ReadonlyArray<string> {
    const events = this.#trace.events
    const { fiber } = before
    const last = lastStep(events.slice(0, index), fiber)
    const goesOn = events.findIndex((event, at) => at > index && event.tag === "step" && event.fiber === fiber)
    const meanwhile = events.slice(index + 1, goesOn < 0 ? events.length : goesOn)
    const after = last === undefined ? undefined : this.#ran.get(last)?.codes.at(-1) ?? this.#ran.get(last)?.at
    const next = this.#standsAt(before)
    const place = after ?? next
    const stopped = after === undefined || next === undefined || isWithin(next, after)
      ? place === undefined ? "" : ` at ${oneLine(place)}`
      : ` after ${oneLine(after)}\n  before ${oneLine(next)}`
    // Without places the rows say all that is known.
    if (!this.#code.isKnown) return [`${path}: ${this.#name(fiber)} stopped`]
    const others = new Map<number, Array<Code>>()
    for (const event of meanwhile) {
      if (event.tag !== "step") continue
      const column = this.#columns.get(event.fiber) ?? event.fiber
      const codes = others.get(column) ?? []
      others.set(column, codes)
      for (const code of this.#ran.get(event)!.codes) if (!codes.some((other) => isOne(other, code))) codes.push(code)
    }
    return [
      `${path}: ${this.#name(fiber)} stopped${stopped}`,
      ...[...others].filter(([column, codes]) => column !== fiber && codes.length > 0).slice(0, shownRows.others).map((
        [column, codes]
      ) => this.#meanwhile(column, codes))
    ]
  }

  #meanwhile(column: number, codes: ReadonlyArray<Code>): string {
    const left = codes.length - shownRows.meanwhile
    const half = shownRows.meanwhile / 2
    const lines = codes.map(oneLine)
    const shown = left <= 1 ? lines : [...lines.slice(0, half), `... ${left} more`, ...lines.slice(-half)]
    return [`  meanwhile ${this.#name(column)} ran`, ...shown].join("\n    ")
  }

  #lastRow(actor: number): Row | undefined {
    for (let at = this.all.length - 1; at >= 0; at--) {
      const row = this.all[at]!
      if (!isAcross(row) && row.actor === actor) return row
    }
    return undefined
  }

  /** The place, with only the file's name if no other file has that name. */
  #shortly(place: Place): string {
    const name = nameIn(place.file)
    return this.#named.get(name)?.size === 1 ? format({ ...place, file: name }) : format(place)
  }

  #standsAt(step: Step): Code | undefined {
    const ran = this.#ran.get(step)
    return ran?.at ?? ran?.codes[0]
  }
}

const nameIn = (file: string): string => file.slice(file.lastIndexOf("/") + 1)

const lastStep = (events: ReadonlyArray<Event>, fiber: number): Step | undefined => {
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at]!
    if (event.tag === "step" && event.fiber === fiber) return event
  }
  return undefined
}

/** Whether the code is the last line of `other`, for example where a fiber waits in the middle of that line. */
const isWithin = (code: Code, other: Code): boolean =>
  code.place.file === other.place.file && code.lines.at(-1)?.line === other.lines.at(-1)?.line

const isOne = (one: Code, other: Code): boolean =>
  one.place.file === other.place.file && one.lines[0]?.line === other.lines[0]?.line &&
  one.lines.at(-1)?.line === other.lines.at(-1)?.line

const isShown = (code: Code, row: Row): boolean => textsOf([code]).every((text) => row.lines.includes(text))

const textsOf = (codes: ReadonlyArray<Code>): ReadonlyArray<string> => {
  const texts = new Set<string>()
  for (const { lines } of codes) for (const { line, text } of lines) texts.add(`${line}| ${text}`)
  return [...texts]
}

/** The code in a sentence: its place, and of several lines the first and the last. */
const oneLine = ({ lines, place }: Code): string => {
  const [first] = lines
  const last = lines.at(-1)
  if (first === undefined || last === undefined) return format(place)
  const from = cut(first.text, 80)
  return first === last
    ? `${place.file}:${first.line}${first.line === place.line ? `:${place.column}` : ""} \`${from}\``
    : `${place.file}:${first.line}-${last.line} \`${from}\` to \`${cut(last.text, 80)}\``
}

const textOf = (error: unknown): string => cut(printable(asText(error).split("\n")[0], 400), 60)

/** The frames of each step's fiber at that fiber's next step, by the index of the event. */
const framesAfter = (events: ReadonlyArray<Event>): ReadonlyMap<number, ReadonlyArray<Frame>> => {
  const after = new Map<number, ReadonlyArray<Frame>>()
  const last = new Map<number, { readonly index: number; readonly nth: number }>()
  for (const [index, event] of events.entries()) {
    const step = event.tag === "stop" ? event.before : event
    if (step === undefined || (step.tag !== "step" && step.tag !== "end")) continue
    const before = last.get(step.fiber)
    const isNext = before !== undefined && step.nth - before.nth <= (event.tag === "step" ? 1 : 0)
    if (isNext) after.set(before.index, step.tag === "end" ? [] : step.frames)
    if (event.tag === "step") last.set(step.fiber, { index, nth: event.nth })
    else last.delete(step.fiber)
  }
  return after
}

/** Describes an effect by Effect's name for it and the function in it, for engines that report no places. */
const describe = (effect: object | undefined): string => {
  if (effect === undefined) return "an effect"
  const code = Object.values(effect).find((value) => typeof value === "function")
  const text = code === undefined
    ? ""
    : ` ${printable(Function.prototype.toString.call(code).replace(/\s+/g, " "), 100)}`
  return `${operationOf(effect)}${text}`
}

/**
 * How many rows to show: at the beginning, at the end and around each deviation, and how many lines that ran meanwhile,
 * of how many fibers.
 */
const shownRows = { first: 6, last: 12, before: 8, after: 24, deviations: 8, meanwhile: 6, others: 4 }

/** Selects the most informative rows, if there are many. */
const selected = (rows: ReadonlyArray<Row | Across>): ReadonlyArray<Row | Across> => {
  const marked = rows.flatMap(({ isMarked }, index) => isMarked ? [index] : [])
  const half = shownRows.deviations / 2
  const near = marked.length <= shownRows.deviations ? marked : [...marked.slice(0, half), ...marked.slice(-half)]
  const isKept = (index: number): boolean =>
    index < shownRows.first || index >= rows.length - shownRows.last ||
    near.some((at) => index >= at - shownRows.before && index <= at + shownRows.after)
  const kept: Array<Row | Across> = []
  let to = 0
  let gap = false
  for (const [index, row] of rows.entries()) {
    if (!isKept(index)) {
      gap = true
      continue
    }
    if (!isAcross(row)) {
      if (gap || row.from > to + stepsOfSwitch) {
        kept.push({ text: `... steps ${to + 1} to ${row.from - 1}`, isMarked: false })
      }
      to = row.to
      gap = false
    }
    kept.push(row)
  }
  return kept
}

/** A fiber's stop and its resumption are steps without a row. */
const stepsOfSwitch = 4

/** @internal */
export const interleavingOf = (trace: Trace, waiting: ReadonlyArray<number>): Interleaving => {
  const rows = new Rows(trace)
  rows.mark(waiting)
  const shown = selected(rows.all)
  return { summary: rows.summary(), fibers: rows.fibersOf(shown), rows: shown }
}
