/**
 * The first line of a recording's file: the format, what its columns mean, and the facts.
 *
 * @internal
 */
import { mostNested } from "effect-gpu-pool/Budget"
import * as Schema from "effect/Schema"
import { kinds } from "./EventShape.ts"
import { keyOfFamily, RecordingFacts } from "./RecordingFacts.ts"

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

const Facts = RecordingFacts.check(Schema.makeFilter(contradictions))

const format = Schema.Literal("effect-gpu-pool recording")

/** Whether a value is the first line of a file, of this version or of another one. */
export const isHeader = Schema.is(Schema.Struct({ format, version: Schema.Number }))

/** The first line. Infinite numbers are texts in it. */
export const Header = Schema.toCodecJson(Schema.Struct({
  format,
  version: Schema.Literal(1),
  length: RecordingFacts.fields.dropped,
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
