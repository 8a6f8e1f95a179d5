/**
 * What each kind of event has besides its kind, its time and its memory, as columns: the one table behind recordings in memory and
 * in files.
 *
 * @internal
 */
import type { FreeReason, GaveUp, Leased, PoolEvent, Released } from "effect-gpu-pool/PoolEvent"
import { type Asked, type Asking, type Input, inputNames } from "./Inputs.ts"

/** The columns of events. A column that an event leaves out is 0; a text is an index into a list of all texts, and 0 for none. */
const columnNames = [
  "request",
  "block",
  "size",
  "capacity",
  "waitAtMost",
  "under",
  "budgetNumber",
  "offset",
  "partBytes",
  "pool",
  "family",
  "label",
  "budget",
  "queue",
  "callSite",
  "detail"
] as const

type Column = typeof columnNames[number]

/** The index of each column. */
export const columns = Object.fromEntries(columnNames.map((name, place) => [name, place])) as {
  readonly [C in Column]: number
}

export const columnCount = columnNames.length

/** One member of an event: its name, its column, and how it is converted, if at all. */
export interface Field {
  readonly name: string
  readonly column: number
  readonly isText: boolean
  readonly as: "itself" | "yes or no" | "list"
  /** Its valid numbers; for a text, those of its index. */
  readonly range: Range
  /** Its valid texts, if not any text is. */
  readonly choices: ReadonlySet<string | undefined> | undefined
  /** Whether 0 means undefined. */
  readonly isOptional: boolean
}

/** A range of numbers, and its name in messages. Each range includes 0. */
export interface Range {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly isWhole: boolean
}

const most = Number.MAX_SAFE_INTEGER
const count: Range = { name: `whole number from 0 to ${most}`, least: 0, most, isWhole: true }
const bytes: Range = { name: `whole number of bytes up to ${most}`, least: 0, most, isWhole: true }
const numbers: Range = { name: "number", least: -Number.MAX_VALUE, most: Infinity, isWhole: false }
const amount: Range = { name: "number from 0", least: 0, most: Infinity, isWhole: false }
const finite: Range = { name: "finite number", least: -Number.MAX_VALUE, most: Number.MAX_VALUE, isWhole: false }
const yesOrNo: Range = { name: "yes or no", least: 0, most: 1, isWhole: true }

const rangeOf = (column: Column): Range =>
  column === "size" || column === "capacity" || column === "offset" || column === "partBytes"
    ? bytes
    : column === "waitAtMost"
    ? amount
    : count

const field = (name: string, column: Column = name as Column, range: Range = rangeOf(column)): Field => ({
  name,
  column: columns[column],
  isText: columns[column] >= columns.pool,
  as: range === yesOrNo ? "yes or no" : "itself",
  range,
  choices: undefined,
  isOptional: column === "budgetNumber" || column === "under"
})

/** One of some texts, which the types of events also have. */
const choice = (name: string, all: Readonly<Record<string, true>>): Field => ({
  ...field(name, "detail"),
  choices: new Set(Object.keys(all))
})

const from: Record<Leased["from"], true> = { held: true, borrowed: true, driver: true }
const ends: Record<Released["why"], true> = {
  released: true,
  scopeClosed: true,
  poolClosed: true,
  parentReleased: true
}
const frees: Record<FreeReason, true> = {
  evicted: true,
  trimmed: true,
  heldLimit: true,
  idle: true,
  notKept: true,
  closed: true,
  lost: true
}
const leaves: Record<GaveUp["why"], true> = { interrupted: true, scopeClosed: true, limitExceeded: true, failed: true }

const ofRequest = [
  field("pool"),
  field("request"),
  field("family"),
  field("size"),
  field("label"),
  field("budget"),
  field("budgetNumber"),
  field("queue"),
  field("callSite"),
  field("waitAtMost"),
  field("under")
]

const block = [field("block"), field("capacity")]

/** Both are 0 for a lease that has its whole block. */
const part = [field("offset"), field("partBytes")]

const asking: Record<Asking, true> = { ask: true, askOnce: true, made: true, tooLarge: true }

type Tag = PoolEvent["_tag"] | Asked["_tag"] | Input["_tag"]

const shapes: { readonly [T in Tag]: ReadonlyArray<Field> } = {
  DriverAsked: [...ofRequest, field("capacity")],
  Leased: [...ofRequest, choice("from", from), ...block, ...part],
  Kept: [...ofRequest, ...block],
  Released: [field("pool"), ...block, field("size"), field("label"), field("callSite"), choice("why", ends), ...part],
  Freed: [field("pool"), ...block, choice("why", frees)],
  Reclaimed: [],
  Refused: [...ofRequest, field("capacity"), field("why", "detail")],
  RoomNeeded: [...ofRequest, field("missing", "capacity", amount)],
  GaveUp: [...ofRequest, choice("why", leaves)],
  Waiting: ofRequest,
  Waited: [...ofRequest, field("served", "block", yesOrNo), field("waitedMillis", "capacity", finite)],
  Reserved: ofRequest,
  ReservationEnded: ofRequest,
  HandlersAsked: [...ofRequest, field("freed", "block", yesOrNo)],
  RanOut: [
    ...ofRequest,
    { ...field("stepsTried", "detail"), as: "list" },
    field("activeBytes", "block", bytes),
    field("heldBytes", "capacity")
  ],
  LimitChanged: [
    field("budget"),
    field("budgetNumber"),
    field("from", "size", amount),
    field("to", "capacity", amount)
  ],
  Lost: [],
  Closed: [],
  TrimAsked: [field("to", "capacity", amount), field("all", "block", yesOrNo), field("queue")],
  HoldingChanged: [field("holds", "block", yesOrNo)],
  IdleStep: [field("steps", "capacity", count)],
  Closing: [field("pool"), field("budgetNumber")],
  Asked: [
    ...ofRequest,
    choice("what", asking),
    { ...field("section", "block"), isOptional: true },
    field("how", "capacity", count)
  ],
  Input: [
    { ...field("what", "detail"), choices: inputNames },
    field("how", "block", count),
    { ...field("request"), isOptional: true },
    field("value", "capacity", numbers),
    field("value2", "size", numbers),
    field("value3", "waitAtMost", numbers),
    field("pool"),
    field("budgetNumber"),
    field("queue"),
    field("why", "label")
  ]
}

/** The kinds of events, and then of inputs. A row has the index of its kind in this list. */
export const kinds: ReadonlyArray<{
  readonly tag: string
  readonly fields: ReadonlyArray<Field>
  /** Whether it has the members of events of requests, and which others. */
  readonly isOfRequest: boolean
  readonly others: ReadonlyArray<Field>
  /** Whether it has those of a part of a block besides. */
  readonly mayBeOfPart: boolean
}> = Object.entries(shapes).map(([tag, fields]) => {
  const others = fields.filter((field) => !ofRequest.includes(field) && !part.includes(field))
  const isOfRequest = ofRequest.every((field) => fields.includes(field))
  return { tag, fields, isOfRequest, others, mayBeOfPart: fields.includes(part[0]!) }
})

const places = new Map<string, number>(kinds.map(({ tag }, place) => [tag, place]))

const firstInput = places.get("Asked")!

/** The index of a kind in {@link kinds}, or undefined for an unknown tag. */
export const placeOf = (tag: string): number | undefined => places.get(tag)

/** Whether a kind is that of an input. */
export const isInput = (kind: number): boolean => kind >= firstInput
