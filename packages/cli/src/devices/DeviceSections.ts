/**
 * What each opened device reports, as a section for each below the table.
 *
 * @internal
 */
import type { DriverFact } from "effect-gpu-pool/DriverFacts"
import { line, list } from "../Printable.ts"
import * as Shown from "../Shown.ts"
import type { Report, ReportedDetails, ReportedDevice } from "./DeviceReport.ts"

type Row = readonly [name: string, value: string]

/** Empty if no device was opened. */
export const sections = ({ devices }: Report): string =>
  devices.flatMap((device) => device.details == null ? [] : [section(device, device.details)]).join("")

const section = (device: ReportedDevice, details: ReportedDetails): string => {
  const rows = rowsOf(details)
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
  return `\n\n${line(device.selector)}  ${line(device.device?.name ?? "")}\n${lines.join("\n")}`
}

const rowsOf = (details: ReportedDetails): ReadonlyArray<Row> => [
  ["vendor", line(details.vendor)],
  ["driver", line(details.driver)],
  ["kernels in", line(details.language)],
  ["types of elements", list(details.dtypes)],
  ...Object.entries(details.missingDtypes).map(([dtype, advice]): Row => [`${line(dtype)} needs`, line(advice)]),
  ["queues", details.severalQueues ? "several" : "one"],
  ...factRows(details.limits),
  ...factRows(details.kernelImages ?? {}),
  ...Object.entries(details.images).map(([kind, { depth, height, layers, read, width, written }]): Row => [
    `images ${line(kind)}`,
    `up to ${
      [width, height, depth, layers].map(Shown.count).join(" × ")
    }, ${read.length} formats read, ${written.length} written`
  ]),
  ...Object.entries(details.facts).flatMap(([name, value]) =>
    isGroup(value) ? groupRows(name, value) : factRows({ [name]: value })
  )
]

type Group = { readonly [name: string]: DriverFact }

const isGroup = (value: DriverFact | Group): value is Group =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The names in a group are the driver's own, so that they can be found in its documents. */
const groupRows = (group: string, facts: Group): ReadonlyArray<Row> =>
  Object.entries(facts).flatMap(([name, value]) => rowOf(`${line(Shown.words(group))}: ${line(name)}`, name, value))

const factRows = (facts: Group): ReadonlyArray<Row> =>
  Object.entries(facts).flatMap(([name, value]) => rowOf(line(Shown.words(name)), name, value))

/** Facts that the driver does not report have no row. */
const rowOf = (title: string, name: string, value: DriverFact): ReadonlyArray<Row> =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0) ? [] : [[title, shown(name, value)]]

const shown = (name: string, value: Exclude<DriverFact, null>): string => {
  if (typeof value === "number") return Shown.quantity(name, value)
  if (typeof value === "string") return line(value, 400)
  return typeof value === "boolean" ? (value ? "yes" : "no") : list(value, ", ", Infinity)
}
