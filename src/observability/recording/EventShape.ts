/**
 * What each kind of event says beside its kind, its time and its memory, as columns: the one table behind recordings in memory and
 * in files.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"

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
  /** Whether 0 says that there is none. */
  readonly isOptional: boolean
}

const field = (name: string, column: Column = name as Column, as: Field["as"] = "itself"): Field => ({
  name,
  column: columns[column],
  isText: columns[column] >= columns.pool,
  as,
  isOptional: column === "budgetNumber" || column === "under"
})

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
const why = field("why", "detail")

const shapes: { readonly [Tag in PoolEvent["_tag"]]: ReadonlyArray<Field> } = {
  DriverAsked: [...ofRequest, field("capacity")],
  Leased: [...ofRequest, field("from", "detail"), ...block],
  Kept: [...ofRequest, ...block],
  Released: [field("pool"), ...block, field("size"), field("label"), field("callSite"), why],
  Freed: [field("pool"), ...block, why],
  Reclaimed: [],
  Refused: [...ofRequest, field("capacity"), why],
  RoomNeeded: [...ofRequest, field("missing", "capacity")],
  GaveUp: [...ofRequest, why],
  Waiting: ofRequest,
  Waited: [...ofRequest, field("served", "block", "yes or no"), field("waitedMillis", "capacity")],
  Reserved: ofRequest,
  ReservationEnded: ofRequest,
  HandlersAsked: [...ofRequest, field("freed", "block", "yes or no")],
  RanOut: [
    ...ofRequest,
    field("rungs", "detail", "list"),
    field("activeBytes", "block"),
    field("heldBytes", "capacity")
  ],
  LimitChanged: [field("budget"), field("budgetNumber"), field("from", "size"), field("to", "capacity")],
  Lost: [],
  Closed: [],
  TrimAsked: [field("to", "capacity"), field("all", "block", "yes or no"), field("queue")],
  HoldingChanged: [field("holds", "block", "yes or no")],
  IdleStep: [field("steps", "capacity")],
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
