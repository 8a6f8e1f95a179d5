/**
 * What each kind of event says beside its kind, its time and its memory, as columns: the one table behind recordings in memory and
 * in files.
 *
 * @internal
 */
import type { FreeReason, GaveUp, Leased, PoolEvent, Released } from "../../domain/pool/PoolEvent.ts"

/** What events say. What one leaves out is 0; a text is a place in a list of all texts, and 0 for none. */
const columnNames = [
  "request",
  "block",
  "size",
  "capacity",
  "waitAtMost",
  "under",
  "budgetNumber",
  "pool",
  "family",
  "label",
  "budget",
  "queue",
  "callSite",
  "detail"
] as const

type Column = typeof columnNames[number]

/** The place of each column. */
export const columns = Object.fromEntries(columnNames.map((name, place) => [name, place])) as {
  readonly [C in Column]: number
}

export const columnCount = columnNames.length

/** One member of an event: its name, the column that has it, and how, if not as it is. */
export interface Field {
  readonly name: string
  readonly column: number
  readonly isText: boolean
  readonly as: "itself" | "yes or no" | "list"
  /** Which numbers it can be; of a text those of its place. */
  readonly range: Range
  /** The only texts that it can be, if there are such. */
  readonly choices: ReadonlySet<string | undefined> | undefined
  /** Whether 0 says that there is none. */
  readonly isOptional: boolean
}

type Range = "count" | "bytes" | "amount" | "finite" | "yes or no"

/** The numbers that events have: which ones, and how that is told. */
export const ranges: { readonly [R in Range]: { readonly has: (value: number) => boolean; readonly name: string } } = {
  count: { has: (value) => Number.isInteger(value) && value >= 0, name: "whole number from 0" },
  bytes: { has: (value) => Number.isFinite(value) && value >= 0, name: "number of bytes" },
  amount: { has: (value) => value >= 0, name: "number from 0" },
  finite: { has: Number.isFinite, name: "finite number" },
  "yes or no": { has: (value) => value === 0 || value === 1, name: "yes or no" }
}

const rangeOf = (column: Column): Range =>
  column === "size" || column === "capacity" ? "bytes" : column === "waitAtMost" ? "amount" : "count"

const field = (name: string, column: Column = name as Column, range: Range = rangeOf(column)): Field => ({
  name,
  column: columns[column],
  isText: columns[column] >= columns.pool,
  as: range === "yes or no" ? range : "itself",
  range,
  choices: undefined,
  isOptional: column === "budgetNumber" || column === "under"
})

/** One of some texts. The types of events name them too. */
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
const leaves: Record<GaveUp["why"], true> = { interrupted: true, scopeClosed: true, failed: true }

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

const shapes: { readonly [Tag in PoolEvent["_tag"]]: ReadonlyArray<Field> } = {
  DriverAsked: [...ofRequest, field("capacity")],
  Leased: [...ofRequest, choice("from", from), ...block],
  Kept: [...ofRequest, ...block],
  Released: [field("pool"), ...block, field("size"), field("label"), field("callSite"), choice("why", ends)],
  Freed: [field("pool"), ...block, choice("why", frees)],
  Reclaimed: [],
  Refused: [...ofRequest, field("capacity"), field("why", "detail")],
  RoomNeeded: [...ofRequest, field("missing", "capacity", "amount")],
  GaveUp: [...ofRequest, choice("why", leaves)],
  Waiting: ofRequest,
  Waited: [...ofRequest, field("served", "block", "yes or no"), field("waitedMillis", "capacity", "finite")],
  Reserved: ofRequest,
  ReservationEnded: ofRequest,
  HandlersAsked: [...ofRequest, field("freed", "block", "yes or no")],
  RanOut: [
    ...ofRequest,
    { ...field("rungs", "detail"), as: "list" },
    field("activeBytes", "block", "bytes"),
    field("heldBytes", "capacity")
  ],
  LimitChanged: [
    field("budget"),
    field("budgetNumber"),
    field("from", "size", "amount"),
    field("to", "capacity", "amount")
  ],
  Lost: [],
  Closed: [],
  TrimAsked: [field("to", "capacity", "amount"), field("all", "block", "yes or no"), field("queue")],
  HoldingChanged: [field("holds", "block", "yes or no")],
  IdleStep: [field("steps", "capacity", "amount")],
  Closing: [field("pool"), field("budgetNumber")]
}

/** The kinds of events. An event in memory has the place of its kind in this list. */
export const kinds: ReadonlyArray<{ readonly tag: PoolEvent["_tag"]; readonly fields: ReadonlyArray<Field> }> = [
  "DriverAsked" as const,
  "Leased" as const,
  "Kept" as const,
  "Released" as const,
  "Freed" as const,
  "Reclaimed" as const,
  "Refused" as const,
  "Waiting" as const,
  "Waited" as const,
  "Reserved" as const,
  "ReservationEnded" as const,
  "HandlersAsked" as const,
  "RanOut" as const,
  "LimitChanged" as const,
  "Lost" as const,
  "Closed" as const,
  "RoomNeeded" as const,
  "GaveUp" as const,
  "TrimAsked" as const,
  "HoldingChanged" as const,
  "Closing" as const,
  "IdleStep" as const
].map((tag) => ({ tag, fields: shapes[tag] }))

const places = new Map<string, number>(kinds.map(({ tag }, place) => [tag, place]))

/** The place of a kind among {@link kinds}, or undefined for what is none. */
export const placeOf = (tag: string): number | undefined => places.get(tag)
