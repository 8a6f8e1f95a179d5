/** What a run of the benchmarks found: for people as text, for programs as JSON. */
import CliTable from "cli-table3"
import { Schema } from "effect"
import * as Measure from "./Measure.ts"

export const Table = Schema.Struct({
  title: Schema.String,
  columns: Schema.Array(Schema.String),
  rows: Schema.Array(Schema.Struct({ name: Schema.String, cells: Schema.Array(Schema.NullOr(Measure.Measure)) }))
})

export type Table = typeof Table.Type

/** A figure with the target that it is to meet. */
export const Check = Schema.Struct({
  name: Schema.String,
  figure: Measure.Measure,
  atLeast: Schema.optionalKey(Schema.Finite),
  atMost: Schema.optionalKey(Schema.Finite)
})

export type Check = typeof Check.Type

export const Findings = Schema.Struct({
  tables: Schema.Array(Table),
  checks: Schema.Array(Check),
  /** What a reader has to know, such as a backend that is not here. */
  remarks: Schema.Array(Schema.String),
  /** What should have been measured and could not be. */
  failures: Schema.Array(Schema.String)
})

export type Findings = typeof Findings.Type

export const Section = Schema.Struct({ name: Schema.String, title: Schema.String, ...Findings.fields })

export type Section = typeof Section.Type

export const Report = Schema.Struct({
  machine: Schema.Struct({
    platform: Schema.String,
    processor: Schema.String,
    processors: Schema.Int,
    node: Schema.String
  }),
  sections: Schema.Array(Section)
})

export type Report = typeof Report.Type

export const merge = (findings: ReadonlyArray<Findings>): Findings => ({
  tables: findings.flatMap(({ tables }) => tables),
  checks: findings.flatMap(({ checks }) => checks),
  remarks: findings.flatMap(({ remarks }) => remarks),
  failures: findings.flatMap(({ failures }) => failures)
})

export const isMet = ({ atLeast, atMost, figure }: Check): boolean => {
  const value = Measure.middle(figure)
  return value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity)
}

const target = ({ atLeast, atMost, figure }: Check): string =>
  [...(atLeast === undefined ? [] : [`≥ ${atLeast}`]), ...(atMost === undefined ? [] : [`≤ ${atMost}`])].join(" and ") +
  (figure.unit === "" ? "" : ` ${figure.unit}`)

const checkLine = (check: Check): string =>
  `${isMet(check) ? "ok    " : "MISSED"} ${check.name}: ${Measure.format(check.figure)}, target ${target(check)}`

export const plainTable = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const table = new CliTable({
    head: [...head],
    style: { head: [], border: [], compact: true },
    colAligns: head.map((_, index) => index === 0 ? "left" : "right")
  })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

const tableText = ({ columns, rows, title }: Table): string =>
  plainTable(
    [title, ...columns],
    rows.map(({ cells, name }) => [name, ...cells.map((cell) => cell === null ? "" : Measure.format(cell))])
  )

export const sectionText = ({ checks, failures, name, remarks, tables, title }: Section): string =>
  [
    `${name}: ${title}`,
    ...tables.map(tableText),
    ...remarks,
    ...failures.map((failure) => `FAILED ${failure}`),
    ...checks.map(checkLine),
    ""
  ].join("\n")

export const machineText = ({ node, platform, processor, processors }: Report["machine"]): string =>
  `${platform}, ${processors} x ${processor}, Node ${node}. Medians, with [least..most] of the samples.`
