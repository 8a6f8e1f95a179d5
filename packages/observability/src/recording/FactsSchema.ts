/**
 * The first line of a recording's file: the format, what its columns mean, and the facts.
 *
 * @internal
 */
import { mostNested } from "effect-gpu-pool/Budget"
import { mostIdleSteps } from "effect-gpu-pool/PoolOptions"
import * as Schema from "effect/Schema"
import { isMemory } from "./EventChunk.ts"
import { kinds } from "./EventShape.ts"
import { keyOfFamily, type RecordingFacts } from "./RecordingFacts.ts"

const order = Schema.Literals(["byNeed", "largestFirst", "oldestFirst", "leastRecentlyUsed"])
const maybeText = Schema.optional(Schema.String)
/** At least 0; infinite for no limit. */
const amount = Schema.Number.check(Schema.isGreaterThanOrEqualTo(0))
const bytes = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const number = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const memory = number.check(Schema.makeFilter(isMemory, { expected: "the number of a memory, below 2 ** 27" }))

/** The ranges that the options of a pool allow: a time to live is 1 ms at least. */
const Idle = Schema.Struct({
  steps: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: mostIdleSteps })),
  keepBytes: amount,
  stepMillis: Schema.Number.check(Schema.isGreaterThanOrEqualTo(1 / mostIdleSteps))
})

const Members = Schema.Struct({
  source: Schema.String,
  reason: Schema.Literals(["asked", "outOfMemory", "signal", "imported", "planned"]),
  takenAt: Schema.Finite,
  dropped: number,
  memories: Schema.Array(Schema.Struct({
    number: memory,
    label: maybeText,
    device: Schema.String,
    kind: Schema.Literals(["pool", "memory"]),
    maxBytes: amount,
    maxHeldBytes: amount,
    outgrown: Schema.optional(Schema.Struct({ mostLeasedBytes: bytes, missedBytes: bytes })),
    deviceBytes: Schema.optional(amount),
    maxBufferSize: Schema.optional(amount),
    eviction: Schema.optional(Schema.Struct({ name: Schema.String, whenKnown: order, whenUnknown: order })),
    reuse: Schema.optional(
      Schema.Struct({ name: Schema.String, ofOtherQueues: Schema.Literals(["never", "afterEvents", "whenEnded"]) })
    ),
    idle: Schema.optional(Idle),
    maxBypasses: amount,
    deadlockTimeoutMillis: amount
  })),
  families: Schema.Array(Schema.Struct({
    memory,
    pool: Schema.String,
    family: Schema.String,
    clears: Schema.Boolean,
    sizes: Schema.Array(Schema.Tuple([bytes, bytes, bytes, amount]))
  })),
  budgets: Schema.Array(Schema.Struct({
    number,
    memory,
    kind: Schema.Literals(["budget", "pool"]),
    label: maybeText,
    maxBytes: amount,
    parent: Schema.optional(number)
  })),
  blocks: Schema.Array(Schema.Struct({
    memory,
    block: number,
    capacity: bytes,
    pool: Schema.String,
    family: maybeText,
    lease: Schema.optional(Schema.Struct({ size: bytes, label: maybeText, callSite: maybeText }))
  }))
})

/** The index of the first element whose key has occurred before. */
const again = <A>(all: ReadonlyArray<A>, keyOf: (one: A) => string): number => {
  const known = new Set<string>()
  return all.findIndex((one) => known.size === known.add(keyOf(one)).size)
}

/** The first budget whose parent is missing, that is within itself, or that is nested too deep. */
const nestingProblem = (budgets: RecordingFacts["budgets"]): Schema.FilterIssue | undefined => {
  const parents = new Map(budgets.map(({ number, parent }) => [number, parent]))
  /** The nesting depth of each budget, 1 for the outermost. */
  const depths = new Map<number, number>()
  for (const [at, budget] of budgets.entries()) {
    const path = ["budgets", at]
    const passed = new Set<number>()
    let number: number | undefined = budget.number
    for (; number !== undefined && !depths.has(number); number = parents.get(number)) {
      if (!parents.has(number)) return { path, issue: `there is no budget ${number}` }
      if (passed.has(number)) return { path, issue: "it is within itself" }
      passed.add(number)
    }
    const around = number === undefined ? 0 : depths.get(number)!
    const depth = around + passed.size
    for (const [inward, inner] of Array.from(passed).entries()) depths.set(inner, depth - inward)
    if (depth > mostNested) {
      return { path, issue: `it is within ${depth - 1} budgets, and ${mostNested - 1} are the most` }
    }
  }
  return undefined
}

/** Duplicates, and references to what the facts do not have. */
const contradictions = ({ blocks, budgets, families, memories }: RecordingFacts): ReadonlyArray<Schema.FilterIssue> => {
  const issues: Array<Schema.FilterIssue> = []
  const once = <A>(name: string, all: ReadonlyArray<A>, keyOf: (one: A) => string): void => {
    const at = again(all, keyOf)
    if (at >= 0) issues.push({ path: [name, at], issue: "it is there twice" })
  }
  once("memories", memories, ({ number }) => `${number}`)
  once("families", families, keyOfFamily)
  once("budgets", budgets, ({ number }) => `${number}`)
  once("blocks", blocks, ({ block, memory }) => `${memory} ${block}`)
  const known = new Set(memories.map(({ number }) => number))
  for (const [name, all] of Object.entries({ families, budgets, blocks })) {
    const at = all.findIndex(({ memory }) => !known.has(memory))
    if (at >= 0) issues.push({ path: [name, at], issue: `there is no memory ${all[at]!.memory}` })
  }
  const problem = nestingProblem(budgets)
  if (problem !== undefined) issues.push(problem)
  return issues
}

const Facts = Members.check(Schema.makeFilter(contradictions))

const format = Schema.Literal("effect-gpu-pool recording")

/** Whether a value is the first line of a file, of this version or of another one. */
export const isHeader = Schema.is(Schema.Struct({ format, version: Schema.Number }))

/** The first line. Infinite numbers are texts in it. */
export const Header = Schema.toCodecJson(Schema.Struct({
  format,
  version: Schema.Literal(1),
  length: number,
  /** For each kind of event, what follows the kind, the time and the number of the memory in its lines. */
  columns: Schema.Record(Schema.String, Schema.Array(Schema.String)),
  facts: Facts
}))

/** Validates the facts that a program gives, as those of the first line. */
export const decodeFacts = Schema.decodeUnknownResult(Schema.toType(Facts))

/** The columns as this version writes them. */
export const columnsOfKinds = Object.fromEntries(kinds.map(({ fields, tag }) => [tag, fields.map(({ name }) => name)]))

/** Facts without the other members of the value. */
export const factsOf = (
  { blocks, budgets, dropped, families, memories, reason, source, takenAt }: RecordingFacts
): RecordingFacts => ({ blocks, budgets, dropped, families, memories, reason, source, takenAt })
