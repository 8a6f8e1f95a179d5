/**
 * What each kind of event says beside its kind, as columns: the one table behind recordings in memory and in files.
 *
 * @internal
 */
import type { PoolEvent } from "../../domain/pool/PoolEvent.ts"

/** The columns of numbers. What an event leaves out is NaN there. */
export const numberColumns = [
  "at",
  "memory",
  "request",
  "block",
  "size",
  "capacity",
  "waitAtMost",
  "under",
  "budgetNumber"
] as const

/** The columns of texts, by their places in a list of all texts; place 0 is for none. */
export const textColumns = ["pool", "family", "label", "budget", "queue", "callSite", "detail"] as const

export type NumberColumn = typeof numberColumns[number]
export type TextColumn = typeof textColumns[number]

/** One member of an event: its name, where it is stored, and how, if not as it is. */
export interface Field {
  readonly name: string
  readonly column: NumberColumn | TextColumn
  readonly isText: boolean
  readonly as: "itself" | "yes or no" | "list"
}

const field = (name: string, column: NumberColumn | TextColumn = name as NumberColumn, as: Field["as"] = "itself") => ({
  name,
  column,
  as,
  isText: textColumns.some((text) => text === column)
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
  Released: [field("pool"), ...block, field("size"), field("label"), why],
  Freed: [field("pool"), ...block, why],
  Reclaimed: [],
  Refused: [...ofRequest, field("capacity"), why],
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
  Closed: []
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
  "Closed" as const
].map((tag) => ({ tag, fields: shapes[tag] }))

const places = new Map<string, number>(kinds.map(({ tag }, place) => [tag, place]))

/** The place of a kind among {@link kinds}, or undefined for what is none. */
export const placeOf = (tag: string): number | undefined => places.get(tag)
