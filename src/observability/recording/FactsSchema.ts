/**
 * The first line of a file with a recording: what the file is, what its columns say, and the facts.
 *
 * @internal
 */
import * as Schema from "effect/Schema"
import { kinds } from "./EventShape.ts"
import type { RecordingFacts } from "./RecordingFacts.ts"

const order = Schema.Literals(["byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed"])
const maybeText = Schema.optional(Schema.String)
const maybeNumber = Schema.optional(Schema.Number)

const Facts = Schema.Struct({
  source: Schema.String,
  reason: Schema.Literals(["asked", "outOfMemory", "signal", "imported", "planned"]),
  takenAt: Schema.Number,
  dropped: Schema.Number,
  memories: Schema.Array(Schema.Struct({
    number: Schema.Number,
    label: maybeText,
    device: Schema.String,
    kind: Schema.Literals(["pool", "memory"]),
    maxBytes: Schema.Number,
    maxHeldBytes: Schema.Number,
    deviceBytes: maybeNumber,
    eviction: Schema.optional(Schema.Struct({ name: Schema.String, whenKnown: order, whenUnknown: order })),
    reuse: Schema.optional(
      Schema.Struct({ name: Schema.String, ofOtherQueues: Schema.Literals(["never", "afterEvents", "whenEnded"]) })
    ),
    idle: Schema.optional(
      Schema.Struct({ steps: Schema.Number, keepBytes: Schema.Number, stepMillis: Schema.Number })
    ),
    maxOvertakes: Schema.Number,
    suspectAfterMillis: Schema.Number
  })),
  families: Schema.Array(Schema.Struct({
    memory: Schema.Number,
    pool: Schema.String,
    family: Schema.String,
    clears: Schema.Boolean,
    sizes: Schema.Array(Schema.Tuple([Schema.Number, Schema.Number, Schema.Number, Schema.Number]))
  })),
  budgets: Schema.Array(Schema.Struct({
    number: Schema.Number,
    memory: Schema.Number,
    kind: Schema.Literals(["budget", "pool"]),
    label: maybeText,
    maxBytes: Schema.Number,
    parent: maybeNumber
  })),
  blocks: Schema.Array(Schema.Struct({
    memory: Schema.Number,
    block: Schema.Number,
    capacity: Schema.Number,
    pool: Schema.String,
    family: maybeText,
    lease: Schema.optional(Schema.Struct({ size: Schema.Number, label: maybeText, callSite: maybeText }))
  }))
})

/** What the first line says. Numbers that are infinite are texts there. */
export const Header = Schema.toCodecJson(Schema.Struct({
  format: Schema.Literal("effect-gpu-pool recording"),
  version: Schema.Literal(1),
  length: Schema.Int,
  /** For each kind of event, what follows the kind, the time and the number of the memory in its lines. */
  columns: Schema.Record(Schema.String, Schema.Array(Schema.String)),
  facts: Facts
}))

/** The columns as this version writes them. */
export const columnsOfKinds = Object.fromEntries(kinds.map(({ fields, tag }) => [tag, fields.map(({ name }) => name)]))

/** Facts without the members that a value has beside them. */
export const factsOf = (
  { blocks, budgets, dropped, families, memories, reason, source, takenAt }: RecordingFacts
): RecordingFacts => ({ blocks, budgets, dropped, families, memories, reason, source, takenAt })
