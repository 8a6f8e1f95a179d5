/**
 * What the command prints about devices. The JSON form is an interface for scripts: a field can be added, but none is
 * removed or changes its meaning without a new `version`.
 *
 * @internal
 */
import type { DeviceDetails, ImageDetails } from "effect-gpu-pool/DeviceDetails"
import type { GroupLimits } from "effect-gpu-pool/DeviceInfo"
import type { Choice } from "effect-gpu-pool/Devices"
import * as DeviceSelector from "effect-gpu-pool/DeviceSelector"
import type { DriverFact, DriverFacts } from "effect-gpu-pool/DriverFacts"
import { line, list } from "effect-gpu-pool/Format"
import type { ListedDevice, Named } from "effect-gpu-pool/ListedDevice"
import * as Format from "../Format.ts"
import * as Table from "../Table.ts"

export type Device = ListedDevice

/** A device that was opened, or why it could not be. */
export interface OpenedDevice {
  readonly device: Device
  readonly details: DeviceDetails | undefined
}

/** What an opened device reports. Sizes are bytes. */
export interface ReportedDetails {
  readonly vendor: string
  readonly driver: string
  /** The id of the language of kernels, such as `wgsl`. */
  readonly language: string
  readonly dtypes: ReadonlyArray<string>
  /** What other element types need, by type. */
  readonly missingDtypes: { readonly [dtype: string]: string }
  readonly severalQueues: boolean
  readonly limits: { readonly [name: string]: number | null }
  readonly kernelImages: { readonly [name: string]: number } | null
  readonly images: { readonly [kind: string]: ImageDetails }
  /** Facts as the driver reports them: other drivers have other facts. */
  readonly facts: DriverFacts
}

export interface ReportedDevice {
  readonly selector: string
  readonly backend: string
  readonly platform: Named | null
  readonly device: Named | null
  readonly type: string | null
  readonly driver: string
  readonly memoryBytes: number | null
  readonly usable: boolean
  readonly reason: string | null
  /** With `--verbose`: null where the device cannot be opened. */
  readonly details?: ReportedDetails | null
}

export interface Report {
  readonly version: 1
  readonly devices: ReadonlyArray<ReportedDevice>
  /** The choice of `Devices.layerDefault`, with its place; null when it cannot be read. */
  readonly choice: { readonly source: string; readonly selector: string | null } | null
}

export const make = (devices: ReadonlyArray<ListedDevice>, choice: Choice | undefined): Report =>
  reportOf(devices.map(reported), choice)

export const verbose = (devices: ReadonlyArray<OpenedDevice>, choice: Choice | undefined): Report =>
  reportOf(
    devices.map(({ details, device }) => ({
      ...reported(device),
      details: details === undefined ? null : reportedDetails(details)
    })),
    choice
  )

const reportOf = (devices: ReadonlyArray<ReportedDevice>, choice: Choice | undefined): Report => ({
  version: 1,
  devices,
  choice: choice === undefined
    ? null
    : {
      source: choice.source,
      selector: choice.selector === undefined ? null : DeviceSelector.format(choice.selector)
    }
})

const reported = (listed: ListedDevice): ReportedDevice => ({
  selector: DeviceSelector.format(DeviceSelector.of(listed)),
  backend: listed.backend,
  platform: listed.platform ?? null,
  device: listed.device ?? null,
  type: listed.type ?? null,
  driver: listed.driver,
  memoryBytes: listed.memoryBytes ?? null,
  usable: listed.device !== undefined && listed.unusable === undefined,
  reason: listed.unusable ?? null
})

const reportedDetails = ({ facts, images, info, severalQueues }: DeviceDetails): ReportedDetails => {
  const { groups, images: kernelImages, ...limits } = info.limits
  return {
    vendor: info.vendor,
    driver: info.driver,
    language: info.traits.language.id,
    dtypes: [...info.dtypes],
    missingDtypes: Object.fromEntries(info.missingDTypes ?? []),
    severalQueues,
    limits: {
      ...limits,
      memoryBytes: limits.memoryBytes ?? null,
      defaultMaxBytes: limits.defaultMaxBytes ?? null,
      ...(groups === undefined ? {} : reportedGroups(groups))
    },
    kernelImages: kernelImages === undefined ? null : { ...kernelImages },
    images,
    facts
  }
}

const reportedGroups = ({ maxLocalBytes, maxWorkgroupExtents: [x, y, z], maxWorkgroups }: GroupLimits) => ({
  maxWorkgroupSizeX: x,
  maxWorkgroupSizeY: y,
  maxWorkgroupSizeZ: z,
  maxWorkgroups,
  maxLocalBytes
})

const columns = [
  { head: "select" },
  { head: "platform", wraps: true },
  { head: "device", wraps: true },
  { head: "type" },
  { head: "memory" },
  { head: "usable", wraps: true }
]

export const table = ({ choice, devices }: Report, width: number): string => {
  const rows = devices.map((entry) => [
    line(entry.selector),
    line(entry.platform?.name ?? ""),
    line(entry.device?.name ?? ""),
    line(entry.type ?? ""),
    entry.memoryBytes === null ? "" : Format.bytes(entry.memoryBytes),
    entry.usable ? "yes" : line(entry.reason ?? "no")
  ])
  const shown = Table.table(columns, rows, width)
  return choice === null ? shown : `${shown}\n${sentence(choice)}`
}

const sentence = ({ selector, source }: NonNullable<Report["choice"]>): string =>
  selector === null
    ? "Nothing selects a device: Devices.layerDefault() takes the first that works, GPUs first."
    : `${line(source)} selects ${line(selector)}.`

type Row = readonly [name: string, value: string]

/** What each opened device reports, as a section for each below the table; empty if no device was opened. */
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
      [width, height, depth, layers].map(Format.count).join(" × ")
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
  Object.entries(facts).flatMap(([name, value]) => rowOf(`${line(Format.words(group))}: ${line(name)}`, name, value))

const factRows = (facts: Group): ReadonlyArray<Row> =>
  Object.entries(facts).flatMap(([name, value]) => rowOf(line(Format.words(name)), name, value))

/** Facts that the driver does not report have no row. */
const rowOf = (title: string, name: string, value: DriverFact): ReadonlyArray<Row> =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0) ? [] : [[title, shown(name, value)]]

const shown = (name: string, value: Exclude<DriverFact, null>): string => {
  if (typeof value === "number") return Format.quantity(name, value)
  if (typeof value === "string") return line(value, 400)
  return typeof value === "boolean" ? (value ? "yes" : "no") : list(value, ", ", Infinity)
}
