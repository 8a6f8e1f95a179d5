/** What the command prints of a status of a fleet. */
import type { FleetModel } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { deviceOf, hostOf, statusOf } from "../../fleet/test/support/status.ts"
import * as FleetReport from "../src/fleet/FleetReport.ts"
import { none } from "../src/Output.ts"

const gib = 2 ** 30

const waitingOf = (change: Partial<FleetModel.WaitingReservation>): FleetModel.WaitingReservation => ({
  id: "6f1c",
  label: undefined,
  bytes: gib,
  where: {},
  waitedMillis: 2300,
  ...change
})

const status = statusOf(
  [
    hostOf("render-1", [
      deviceOf("0", 3 * gib, { capacity: 8 * gib, reservations: 2, labels: { kind: "discrete" } }),
      deviceOf("1", 0, { capacity: gib, backend: "opencl", description: "NVIDIA RTX" })
    ], { silentMillis: 340 }),
    hostOf("render-2", [deviceOf("0", gib, { capacity: gib })], { state: "draining", silentMillis: 900 }),
    hostOf("render-3", [], { state: "lost", silentMillis: 61_000 })
  ],
  {
    waiters: 2,
    waiting: [
      waitingOf({ label: "tile 7", where: { labels: { kind: "discrete" }, atLeast: { maxBufferSize: 2 ** 20 } } }),
      waitingOf({ bytes: 512, where: { host: "render-1", device: "1", backend: "opencl" }, waitedMillis: 120_000 })
    ],
    placed: 1203,
    ended: 1200,
    lost: 1
  }
)

const time = 1_790_000_000_000
const endless = { width: Infinity, height: Infinity }
const textOf = (of: FleetModel.FleetStatus, room: FleetReport.Room = endless) =>
  FleetReport.text({ time, status: of }, none, room)

/** The heads of the table of devices on a terminal of this width. */
const headsIn = (width: number) =>
  textOf(status, { width, height: Infinity }).split("\n")[2]!.split("│").map((cell) => cell.trim())
    .filter((cell) => cell !== "")

describe("the report of a fleet", () => {
  it("has a row for each device, the reservations that wait, and both in sums", () => {
    strictEqual(
      textOf(status),
      `3 hosts, 3 devices: 4 GiB of 10 GiB in 3 reservations; 2 reservations wait
┌──────────┬──────────┬────────────┬────────┬───────────────────┬───────────────┬──────────┬──────────┬───────┬──────────────┐
│ host     │ state    │      heard │ device │ what it is        │ labels        │ capacity │ reserved │  free │ reservations │
├──────────┼──────────┼────────────┼────────┼───────────────────┼───────────────┼──────────┼──────────┼───────┼──────────────┤
│ render-1 │ current  │ 340 ms ago │ 0      │ webgpu llvmpipe   │ kind=discrete │    8 GiB │    3 GiB │ 5 GiB │            2 │
│ render-1 │ current  │ 340 ms ago │ 1      │ opencl NVIDIA RTX │               │    1 GiB │      0 B │ 1 GiB │            0 │
│ render-2 │ draining │ 900 ms ago │ 0      │ webgpu llvmpipe   │               │    1 GiB │    1 GiB │   0 B │            1 │
│ render-3 │ lost     │   61 s ago │        │                   │               │          │          │       │              │
└──────────┴──────────┴────────────┴────────┴───────────────────┴───────────────┴──────────┴──────────┴───────┴──────────────┘
┌─────────┬───────┬───────────────────────────────────────────────────────────┬───────┐
│ waiting │ bytes │ where                                                     │   for │
├─────────┼───────┼───────────────────────────────────────────────────────────┼───────┤
│ tile 7  │ 1 GiB │ kind=discrete, maxBufferSize at least 1 MiB (1,048,576 B) │ 2.3 s │
│ 6f1c    │ 512 B │ host render-1, device 1, backend opencl                   │ 120 s │
└─────────┴───────┴───────────────────────────────────────────────────────────┴───────┘
Since this broker began: 1,203 reservations placed, 1,200 ended, 1 lost with their hosts.`
    )
  })

  it("counts no bytes of lost hosts, and has no tables of nothing", () => {
    const lost = statusOf([hostOf("a", [deviceOf("0", 300)], { state: "lost" })])
    assert.include(textOf(lost), "1 host, 0 devices: 0 B of 0 B in 0 reservations; 0 reservations wait")
    strictEqual(
      textOf(statusOf([])),
      "0 hosts, 0 devices: 0 B of 0 B in 0 reservations; 0 reservations wait\n" +
        "Since this broker began: 0 reservations placed, 0 ended, none lost with their hosts."
    )
  })

  it("marks what is not as it should be", () => {
    const marked = FleetReport.text({ time, status }, {
      good: (text) => `<g>${text}</g>`,
      bad: (text) => `<b>${text}</b>`,
      strong: (text) => `<s>${text}</s>`
    }, endless)
    for (const part of ["<s>draining</s>", "<b>lost</b>", "<s>2 reservations wait</s>", "<b>1 lost</b>"]) {
      assert.include(marked, part)
    }
    assert.notInclude(marked, "<g>")
  })

  it("fits any terminal, without the columns that have no room", () => {
    deepStrictEqual(headsIn(110), [
      "host",
      "state",
      "heard",
      "device",
      "what it is",
      "capacity",
      "reserved",
      "free",
      "reservations"
    ])
    deepStrictEqual(headsIn(60), ["host", "state", "device", "reserved", "free"])
    deepStrictEqual(headsIn(50), ["host", "device", "reserved", "free"])
    for (let width = 60; width < 140; width++) {
      const lines = textOf(status, { width, height: Infinity }).split("\n").filter((line) => /^[│┌├└]/.test(line))
      assert.isAtMost(Math.max(...lines.map(({ length }) => length)), width)
    }
  })

  it("has as many rows as a screen has lines for", () => {
    const many = statusOf(
      Array.from({ length: 50 }, (_, at) => hostOf(`host ${at}`, [deviceOf("0", 0), deviceOf("1", 0)])),
      { waiters: 5000, waiting: Array.from({ length: 100 }, (_, at) => waitingOf({ label: `job ${at}` })) }
    )
    for (const height of [30, 40, 80, 130]) {
      assert.isBelow(textOf(many, { width: Infinity, height }).split("\n").length, height)
    }
    const lines = textOf(many, { width: Infinity, height: 40 }).split("\n")
    assert.isTrue(lines.some((line) => /and \d+ more devices, which --json has too/.test(line)))
    assert.include(lines, "and 4,990 more behind them")
    const [first] = lines.flatMap((line) => /│ (job \d+)/.exec(line)?.[1] ?? [])
    strictEqual(first, "job 0")
    strictEqual(textOf(many).split("\n").filter((line) => line.startsWith("│ host ")).length, 100 + 1)
  })

  it("is on one line for scripts, with the unit in the names of sizes", () => {
    const text = FleetReport.json({ time, status })
    assert.notInclude(text, "\n")
    const { hosts: [first], waiting, ...others } = JSON.parse(text) as {
      readonly hosts: ReadonlyArray<object>
      readonly waiting: ReadonlyArray<object>
    }
    deepStrictEqual(others as object, { version: 1, time, waiters: 2, placed: 1203, ended: 1200, lost: 1 })
    deepStrictEqual(first, {
      name: "render-1",
      state: "current",
      address: "127.0.0.1:7101",
      epoch: 1,
      silentMillis: 340,
      devices: [
        {
          name: "0",
          backend: "webgpu",
          description: "llvmpipe",
          capacityBytes: 8 * gib,
          reservedBytes: 3 * gib,
          reservations: 2,
          labels: { kind: "discrete" },
          facts: {}
        },
        {
          name: "1",
          backend: "opencl",
          description: "NVIDIA RTX",
          capacityBytes: gib,
          reservedBytes: 0,
          reservations: 0,
          labels: {},
          facts: {}
        }
      ]
    })
    deepStrictEqual(waiting[1], {
      id: "6f1c",
      label: null,
      bytes: 512,
      where: { host: "render-1", device: "1", backend: "opencl" },
      waitedMillis: 120_000
    })
  })
})
