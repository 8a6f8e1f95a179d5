/** What the job found, for people and for programs. */
import CliTable from "cli-table3"
import { PoolStats } from "effect-gpu-pool"
import { type Airport, format } from "./Airports.ts"
import type { Measured, Measurement, Outcome } from "./Comparison.ts"
import type { Neighbours } from "./NearestNeighbours.ts"
import { toleranceMeters } from "./Reference.ts"

const head = [
  "backend",
  "form",
  "time",
  "driver\nallocations",
  "hit rate",
  "peak\nleased",
  "peak\nmanaged",
  "largest\nerror"
]

const columnWidths = [30, 16, 10, 13, 10, 11, 11, 9]

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** A line for each way. */
const lines = ({ measurements }: Measured, show: (measurement: Measurement) => string): string =>
  measurements.map(show).join("\n")

const measuredRow = (outcome: Measured): ReadonlyArray<string> => [
  `${outcome.backend}: ${outcome.device.name}`,
  lines(outcome, ({ way }) => way),
  lines(outcome, ({ millis }) => `${millis.toFixed(0)} ms`),
  lines(outcome, ({ stats }) => String(stats.driverAllocations)),
  lines(outcome, ({ stats }) => `${(100 * PoolStats.hitRate(stats)).toFixed(1)} %`),
  lines(outcome, ({ stats }) => mebibytes(stats.peakActiveBytes)),
  lines(outcome, ({ stats }) => mebibytes(stats.peakManagedBytes)),
  lines(outcome, ({ errorMeters }) => `${errorMeters.toFixed(1)} m`)
]

const row = (outcome: Outcome): CliTable.HorizontalTableRow => {
  switch (outcome._tag) {
    case "Measured":
      return [...measuredRow(outcome)]
    case "Missing":
      return [outcome.backend, { colSpan: head.length - 1, content: `not here: ${outcome.why}\n${outcome.hint}` }]
    case "Failed":
      return [outcome.backend, { colSpan: head.length - 1, content: `failed: ${outcome.error.message}` }]
  }
}

/** One row for each backend, with a line for each way to run the job. */
export const table = (outcomes: ReadonlyArray<Outcome>): string => {
  const table = new CliTable({ head, colWidths: columnWidths, wordWrap: true, style: { head: [], border: [] } })
  table.push(...outcomes.map(row))
  return table.toString()
}

/** The airports that are farthest from their nearest neighbour, the farthest first. */
export const mostIsolated = (
  airports: ReadonlyArray<Airport>,
  { nearest, nearestMeters }: Neighbours,
  count: number
): ReadonlyArray<{ readonly airport: Airport; readonly nearest: Airport; readonly meters: number }> =>
  [...airports.keys()]
    .sort((a, b) => nearestMeters[b]! - nearestMeters[a]!)
    .slice(0, count)
    .map((row) => ({ airport: airports[row]!, nearest: airports[nearest[row]!]!, meters: nearestMeters[row]! }))

const kilometers = (meters: number): string => `${(meters / 1000).toFixed(1)} km`

const isolatedLines = (airports: ReadonlyArray<Airport>, neighbours: Neighbours): ReadonlyArray<string> => [
  "The most isolated airports:",
  ...mostIsolated(airports, neighbours, 3).map(({ airport, meters, nearest }, place) =>
    `  ${place + 1}. ${format(airport)}: ${kilometers(meters)} to ${format(nearest)}`
  )
]

/** What went wrong, if anything: backends that failed, and results beyond the tolerance. */
export const problems = (outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> =>
  outcomes.flatMap((outcome) => {
    if (outcome._tag === "Missing") return []
    if (outcome._tag === "Failed") return [`${outcome.backend} failed: ${outcome.error.message}`]
    return outcome.measurements.filter(({ errorMeters }) => !(errorMeters <= toleranceMeters)).map(
      ({ errorMeters, way }) =>
        `${outcome.backend}, ${way}, is wrong by ${errorMeters} m, more than the ${toleranceMeters} m allowed`
    )
  })

export const isMeasured = (outcome: Outcome): outcome is Measured => outcome._tag === "Measured"

/** The report for people. */
export const text = (airports: ReadonlyArray<Airport>, outcomes: ReadonlyArray<Outcome>): string => {
  const first = outcomes.find(isMeasured)
  return [
    table(outcomes),
    "eager, no pool: each operation is a kernel, each array a buffer from the driver and back to it",
    "eager:  the same, with a pool",
    "scoped: arrays go back to the pool when the expression they are used in has its result",
    "fused:  an expression is one kernel, without arrays for its intermediate values",
    `Errors are against float64; ${toleranceMeters} m are allowed.`,
    ...(first === undefined ? [] : ["", ...isolatedLines(airports, first.neighbours)])
  ].join("\n")
}

const jsonOf = (outcome: Outcome) => {
  switch (outcome._tag) {
    case "Measured": {
      const { neighbours: _, ...measured } = outcome
      return { ...measured, device: outcome.device.name, driver: outcome.device.driver }
    }
    case "Missing":
      return outcome
    case "Failed":
      return { _tag: outcome._tag, backend: outcome.backend, why: outcome.error.message }
  }
}

/** The report for programs. */
export const json = (airports: ReadonlyArray<Airport>, outcomes: ReadonlyArray<Outcome>): string => {
  const first = outcomes.find(isMeasured)
  return JSON.stringify(
    {
      toleranceMeters,
      backends: outcomes.map(jsonOf),
      mostIsolated: first === undefined ? [] : mostIsolated(airports, first.neighbours, 3)
    },
    undefined,
    2
  )
}
