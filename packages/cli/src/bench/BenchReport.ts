/**
 * What `effect-gpu-pool bench` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or
 * changes its meaning without a new `version`.
 *
 * @internal
 */
import * as DeviceSelector from "effect-gpu-pool/DeviceSelector"
import { line } from "effect-gpu-pool/Format"
import type { ListedDevice } from "effect-gpu-pool/ListedDevice"
import * as Format from "../Format.ts"
import type { Style } from "../Output.ts"
import type { Allocation, DeviceFigures, Transfer } from "./DeviceFigures.ts"

export interface MeasuredDevice {
  readonly selector: string
  readonly name: string
  readonly type: string | null
  /** Why the device could not be measured, or null. */
  readonly why: string | null
  /** Null if it could not be measured. */
  readonly figures: DeviceFigures | null
}

export interface Report {
  readonly version: 1
  readonly devices: ReadonlyArray<MeasuredDevice>
}

export const measured = (device: ListedDevice, figures: DeviceFigures | string): MeasuredDevice => ({
  selector: DeviceSelector.format(DeviceSelector.of(device)),
  name: device.device?.name ?? "",
  type: device.type ?? null,
  ...(typeof figures === "string" ? { why: figures, figures: null } : { why: null, figures })
})

export const text = ({ figures, name, selector, type, why }: MeasuredDevice, style: Style): string => {
  const head = `${style.strong(line(selector))}  ${line(name)}${type === null ? "" : ` (${line(type)})`}`
  if (figures === null) return `${head}\n  ${style.bad("not measured")}: ${line(why ?? "no reason is known", 400)}\n`
  const rows = [...figures.allocations.map(allocationRow(style)), ...figures.transfers.map(transferRow)]
  const width = Math.max(...rows.map(([what]) => what.length))
  return `${head}\n${rows.map(([what, figure]) => `  ${what.padEnd(width)}  ${figure}`).join("\n")}\n`
}

type Row = readonly [what: string, figure: string]

/** Which of both takes longer, as far as two digits tell. */
const comparison = (ratio: number, style: Style): string => {
  const times = Format.twoDigits(Math.max(ratio, 1 / ratio))
  if (times === "1.0") return style.strong("as long with it as without")
  return `${style.strong(`${times} times`)} as long ${ratio > 1 ? "without" : "with"} the pool`
}

const allocationRow = (style: Style) => ({ bytes, filled, pooled, ratio, unpooled }: Allocation): Row => [
  `${Format.bytes(bytes)}, ${filled ? "allocated, filled and released" : "allocated and released"}`,
  `${Format.duration(pooled)} with the pool, ${Format.duration(unpooled)} without: ${comparison(ratio, style)}`
]

const ways: Record<Transfer["direction"], string> = {
  hostToDevice: "to the device",
  deviceToHost: "from the device",
  deviceToDevice: "within the device"
}

const transferRow = ({ bytes, bytesPerSecond, direction }: Transfer): Row => [
  `${Format.bytes(bytes)} ${ways[direction]}`,
  `${(bytesPerSecond / 1e9).toPrecision(3)} GB/s`
]
