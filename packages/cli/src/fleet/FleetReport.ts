/**
 * What `effect-gpu-pool fleet` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or changes its
 * meaning without a new `version`.
 *
 * @internal
 */
import type { FleetModel } from "@effect-gpu-pool/fleet"
import { line, list } from "effect-gpu-pool/Format"
import * as Format from "../Format.ts"
import type { Style } from "../Output.ts"
import { json as asJson } from "../Printable.ts"
import { withoutEnd, withoutMiddle } from "../ShortName.ts"
import { type Column, table } from "../Table.ts"

/** A status, and when it was read, in milliseconds since 1970. */
export interface Seen {
  readonly time: number
  readonly status: FleetModel.FleetStatus
}

/** The broker has hosts in the order in which they have joined it. */
const inOrder = ({ hosts }: FleetModel.FleetStatus): ReadonlyArray<Host> =>
  [...hosts].sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }))

/** On one line, or in lines if it is indented. */
export const json = ({ status, time }: Seen, indent?: number): string =>
  asJson({
    version: 1,
    time,
    hosts: inOrder(status).map(({ address, devices, epoch, name, silentMillis, state }) => ({
      name,
      state,
      address: `${address.host}:${address.port}`,
      epoch,
      silentMillis,
      devices: devices.map(({ backend, capacity, description, facts, labels, name, reservations, reservedBytes }) => ({
        name,
        backend,
        description,
        capacityBytes: capacity,
        reservedBytes,
        reservations,
        labels,
        facts
      }))
    })),
    waiters: status.waiters,
    waiting: status.waiting.map(({ bytes, id, label, waitedMillis, where }) => ({
      id,
      label: label ?? null,
      bytes,
      where,
      waitedMillis
    })),
    placed: status.placed,
    ended: status.ended,
    lost: status.lost
  }, indent)

type Host = FleetModel.HostStatus
type Device = Host["devices"][number]

/** One device, or a host without any. */
interface Row {
  readonly host: Host
  readonly device: Device | undefined
}

interface Cell extends Column {
  readonly of: (row: Row, style: Style) => string
}

const span = (millis: number): string => millis < 1 ? "0 ms" : Format.duration(millis * 1e6)

const states: { readonly [state in Host["state"]]: keyof Style | undefined } = {
  current: undefined,
  draining: "strong",
  lost: "bad"
}

const ofDevice = (text: (device: Device) => string) => ({ device }: Row): string =>
  device === undefined ? "" : text(device)

const columns: ReadonlyArray<Cell> = [
  { head: "host", of: ({ host }) => withoutMiddle(line(host.name), 30) },
  {
    head: "state",
    of: ({ host: { state } }, style) => {
      const mark = states[state]
      return mark === undefined ? state : style[mark](state)
    }
  },
  {
    head: "heard",
    isRight: true,
    of: ({ host }) => `${span(host.silentMillis)} ago`
  },
  { head: "device", of: ofDevice(({ name }) => withoutMiddle(line(name), 20)) },
  {
    head: "what it is",
    of: ofDevice(({ backend, description }) => withoutEnd(line(`${backend} ${description}`), 40))
  },
  {
    head: "labels",
    of: ofDevice(({ labels }) => withoutEnd(list(Object.entries(labels).map(([name, of]) => `${name}=${of}`)), 30))
  },
  { head: "capacity", isRight: true, of: ofDevice(({ capacity }) => Format.bytes(capacity)) },
  { head: "reserved", isRight: true, of: ofDevice(({ reservedBytes }) => Format.bytes(reservedBytes)) },
  {
    head: "free",
    isRight: true,
    of: ofDevice(({ capacity, reservedBytes }) => Format.bytes(Math.max(0, capacity - reservedBytes)))
  },
  { head: "reservations", isRight: true, of: ofDevice(({ reservations }) => Format.count(reservations)) }
]

/** The columns that a narrow terminal leaves out, the first ones first. */
const dispensable = ["labels", "what it is", "heard", "capacity", "reservations", "state"]

/** A table that fits the width, as far as columns can be left out. */
const fitting = (
  rows: ReadonlyArray<Row>,
  style: Style,
  width: number,
  [first, ...others]: ReadonlyArray<string>,
  of: ReadonlyArray<Cell>
): string => {
  const whole = table(of, rows.map((row) => of.map((cell) => cell.of(row, style))), Infinity)
  return whole.indexOf("\n") <= width || first === undefined
    ? whole
    : fitting(rows, style, width, others, of.filter(({ head }) => head !== first))
}

const labelled = (row: Row): boolean => Object.keys(row.device?.labels ?? {}).length > 0

const rowsOf = (status: FleetModel.FleetStatus): ReadonlyArray<Row> =>
  inOrder(status).flatMap((host): ReadonlyArray<Row> =>
    host.devices.length === 0 ? [{ host, device: undefined }] : host.devices.map((device) => ({ host, device }))
  )

/** Which devices a reservation may be on. */
export const whereText = ({ atLeast = {}, backend, device, host, labels = {} }: FleetModel.Where): string => {
  const conditions = [
    ...host === undefined ? [] : [`host ${host}`],
    ...device === undefined ? [] : [`device ${device}`],
    ...backend === undefined ? [] : [`backend ${backend}`],
    ...Object.entries(labels).map(([name, of]) => `${name}=${of}`),
    ...Object.entries(atLeast).map(([name, least]) => `${name} at least ${Format.quantity(name, least)}`)
  ]
  return conditions.length === 0 ? "any device" : list(conditions)
}

const waitingColumns: ReadonlyArray<Column> = [
  { head: "waiting" },
  { head: "bytes", isRight: true },
  { head: "where", wraps: true },
  { head: "for", isRight: true }
]

const waitingTable = (waiting: FleetModel.FleetStatus["waiting"], width: number): string =>
  table(
    waitingColumns,
    waiting.map(({ bytes, id, label, waitedMillis, where }) => [
      withoutMiddle(line(label ?? id), 40),
      Format.bytes(bytes),
      whereText(where),
      span(waitedMillis)
    ]),
    width
  )

const counted = (count: number, noun: string): string => `${Format.count(count)} ${noun}${count === 1 ? "" : "s"}`

/** The whole fleet in a sentence. Lost hosts have nothing that could be reserved. */
const summary = ({ hosts, waiters }: FleetModel.FleetStatus, style: Style): string => {
  const devices = hosts.filter(({ state }) => state !== "lost").flatMap(({ devices }) => devices)
  const sum = (of: (device: Device) => number): number => devices.reduce((sum, device) => sum + of(device), 0)
  const reserved = Format.bytes(sum(({ reservedBytes }) => reservedBytes))
  const capacity = Format.bytes(sum(({ capacity }) => capacity))
  const waits = `${counted(waiters, "reservation")} ${waiters === 1 ? "waits" : "wait"}`
  return `${counted(hosts.length, "host")}, ${counted(devices.length, "device")}: ` +
    `${reserved} of ${capacity} in ${counted(sum(({ reservations }) => reservations), "reservation")}; ` +
    (waiters > 0 ? style.strong(waits) : waits)
}

/** The most rows of a table without a terminal. */
const mostRows = 100

/** The waiting reservations that a table has at most: the first of them, as few lines explain a queue. */
const mostWaiting = 10

/** The lines beside rows: two sentences, a table's heading and its edges, and the cursor's. */
const otherLines = 7

/** The lines of the other table beside its rows. */
const otherLinesOfWaiting = 5

const cut = <A>(all: ReadonlyArray<A>, most: number): readonly [shown: ReadonlyArray<A>, left: number] => {
  const shown = all.slice(0, Math.max(1, most))
  return [shown, all.length - shown.length]
}

const rest = (count: number, what: string): ReadonlyArray<string> =>
  count === 0 ? [] : [`and ${Format.count(count)} more ${what}, which --json has too`]

export interface Room {
  /** Characters of a line. */
  readonly width: number
  readonly height: number
}

/** Two tables: the devices of all hosts, and the first reservations that wait. */
export const text = ({ status }: Seen, style: Style, { height, width }: Room): string => {
  const rows = rowsOf(status)
  const ofWaiting = status.waiting.length === 0 ? 0 : Math.min(status.waiting.length, mostWaiting) + otherLinesOfWaiting
  const room = Math.min(mostRows, height - otherLines - (rows.length === 0 ? 0 : ofWaiting))
  const [shown, moreRows] = cut(rows, rows.length <= room ? room : room - 1)
  const [waiting] = cut(status.waiting, mostWaiting)
  const heads = rows.some(labelled) ? columns : columns.filter(({ head }) => head !== "labels")
  return [
    summary(status, style),
    ...shown.length === 0 ? [] : [fitting(shown, style, width, dispensable, heads)],
    ...rest(moreRows, moreRows === 1 ? "device" : "devices"),
    ...waiting.length === 0 ? [] : [waitingTable(waiting, width)],
    ...waiting.length === 0 || status.waiters === waiting.length
      ? []
      : [`and ${Format.count(status.waiters - waiting.length)} more behind them`],
    `Since this broker began: ${counted(status.placed, "reservation")} placed, ${Format.count(status.ended)} ended, ` +
    `${status.lost > 0 ? style.bad(`${Format.count(status.lost)} lost`) : "none lost"} with their hosts.`
  ].join("\n")
}
