/**
 * What the command prints about devices. The JSON form is an interface for scripts: a field can be added, but none is
 * removed or changes its meaning without a new `version`.
 *
 * @internal
 */
import CliTable from "cli-table3"
import type { Choice } from "../devices/Devices.ts"
import { line } from "../domain/arguments/ShownValue.ts"
import * as DeviceSelector from "../domain/selection/DeviceSelector.ts"
import type { ListedDevice, Named } from "../domain/selection/ListedDevice.ts"

export type Device = ListedDevice

interface ReportedDevice {
  readonly selector: string
  readonly backend: string
  readonly platform: Named | null
  readonly device: Named | null
  readonly type: string | null
  readonly driver: string
  readonly memoryBytes: number | null
  readonly usable: boolean
  readonly reason: string | null
}

export interface Report {
  readonly version: 1
  readonly devices: ReadonlyArray<ReportedDevice>
  /** The choice of `Devices.layerDefault`, with its place; null when it cannot be read. */
  readonly choice: { readonly source: string; readonly selector: string | null } | null
}

export const make = (devices: ReadonlyArray<ListedDevice>, choice: Choice | undefined): Report => ({
  version: 1,
  devices: devices.map(reported),
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

const head = ["select", "platform", "device", "type", "memory", "usable"]

export const table = ({ choice, devices }: Report): string => {
  const table = new CliTable({ head, style: { head: [], border: [], compact: true }, wordWrap: true, colWidths })
  table.push(...devices.map((entry) => [
    line(entry.selector),
    line(entry.platform?.name ?? ""),
    line(entry.device?.name ?? ""),
    line(entry.type ?? ""),
    entry.memoryBytes === null ? "" : `${(entry.memoryBytes / 2 ** 30).toFixed(1)} GiB`,
    entry.usable ? "yes" : line(entry.reason ?? "no")
  ]))
  return choice === null ? table.toString() : `${table.toString()}\n${sentence(choice)}`
}

/** Names of drivers are long, so these columns wrap. */
const colWidths = [null, 24, 36, null, null, 40]

const sentence = ({ selector, source }: NonNullable<Report["choice"]>): string =>
  selector === null
    ? "Nothing selects a device: Devices.layerDefault() takes the first that works, GPUs first."
    : `${line(source)} selects ${line(selector)}.`
