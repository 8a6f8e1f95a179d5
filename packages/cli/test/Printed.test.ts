/**
 * No text of a program, a driver, a file or a variable can control the terminal on which a command prints, or forge a
 * line.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { deviceOf, hostOf, statusOf } from "../../fleet/test/support/status.ts"
import * as BenchReport from "../src/bench/BenchReport.ts"
import * as DeviceReport from "../src/devices/DeviceReport.ts"
import * as DoctorReport from "../src/doctor/DoctorReport.ts"
import * as FleetReport from "../src/fleet/FleetReport.ts"
import { none } from "../src/Output.ts"
import * as PlanText from "../src/plan/PlanText.ts"
import { json } from "../src/Printable.ts"
import * as ReplayText from "../src/replay/ReplayText.ts"
import * as TopReport from "../src/top/TopReport.ts"
import { type Answer, Watched } from "../src/top/Watched.ts"

const steering = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Control sequences that clear the screen (8-bit and 7-bit), a bidirectional control, and line breaks. */
const hostile = "\u009b2J\u001b[2J\u202e\r\nforged\u2028"

/** The report with the hostile text in each of its texts, and in names of members that are data. */
const spoilt = <A>(report: A, spoil = (text: string): string => `${text}${hostile}`): A => {
  const of = (value: unknown): unknown => {
    if (typeof value === "string") return spoil(value)
    if (Array.isArray(value)) return value.map(of)
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, of(member)]))
  }
  return of(report) as A
}

const endless = { width: Infinity, height: Infinity }

const named = { index: 0, name: "llvmpipe", vendor: "Mesa" }

const devices: DeviceReport.Report = {
  version: 1,
  devices: [{
    selector: "webgpu:0:0",
    backend: "webgpu",
    platform: named,
    device: named,
    type: "cpu",
    driver: "1",
    memoryBytes: 1,
    usable: false,
    reason: "it is lost",
    details: {
      vendor: "Mesa",
      driver: "1",
      language: "wgsl",
      dtypes: ["float32"],
      missingDtypes: { float16: "a feature" },
      severalQueues: false,
      limits: { maxBufferSize: 1 },
      kernelImages: { maxRead: 1 },
      images: { "2d": { width: 1, height: 1, depth: 1, layers: 1, read: ["rgba8unorm"], written: [] } },
      facts: {
        features: ["shader-f16"],
        limits: { maxBindGroups: 4, name: "x" },
        [hostile]: "y",
        group: { [hostile]: 1 }
      }
    }
  }],
  choice: { source: "GPU_POOL_DEVICE", selector: "webgpu" }
}

const doctor: DoctorReport.Report = {
  version: 1,
  works: true,
  machine: { system: "Debian", platform: "linux", arch: "x64", runtime: "Node", packageManager: "npm", gpus: ["AMD"] },
  backends: [true, false].map((works) => ({
    backend: "webgpu",
    works,
    forGpus: true,
    devices: [null, "it is lost"].map((why) => ({
      selector: "webgpu:0:0",
      name: "llvmpipe",
      type: "cpu",
      driver: "1",
      why
    })),
    why: "no driver",
    parts: [{ name: "npm webgpu", found: true, detail: "/node_modules/webgpu" }],
    remedies: [{ why: "install it", commands: ["npm install webgpu"], advice: "or not" }]
  }))
}

const bench: BenchReport.MeasuredDevice = {
  selector: "host:0:0",
  name: "host",
  type: "cpu",
  why: "it is lost",
  figures: null
}

const failed = [{
  request: 1,
  size: 1,
  pool: "frames",
  label: "x",
  callSite: "/p.ts:1:1",
  madeAt: 0,
  failedAt: 0,
  why: "OutOfMemory"
}]

const counts = {
  leases: 1,
  hits: 1,
  borrows: 0,
  misses: 0,
  hitRate: 1,
  evictions: 0,
  evictedBytes: 0,
  driverAllocations: 1,
  driverFrees: 1,
  refusals: 0,
  peakActiveBytes: 1,
  peakActiveAt: 0,
  peakManagedBytes: 1,
  peakManagedAt: 0,
  fragmentation: 0,
  waits: 0,
  waitedMillis: 0,
  longestWaitMillis: 0,
  failed: 0,
  differsAt: undefined
}

const replay: ReplayText.Report = {
  version: 1,
  input: "r.jsonl",
  events: 1,
  dropped: 0,
  changed: { policy: "exact" },
  recorded: counts,
  replayed: counts,
  failed,
  limits: { atAll: null, withoutWaiting: null },
  endsIn: { request: 1, size: 1, pool: "frames", label: "x", callSite: "/p.ts:1:1" }
}

const plan: PlanText.Report = {
  version: 1,
  input: "p.ts",
  events: 1,
  dropped: 0,
  peakBytes: 1,
  peakAt: 0,
  peakManagedBytes: 1,
  holders: [{ label: "x", callSite: "/p.ts:1:1", leases: 1, bytes: 1 }],
  limits: { atAll: null, withoutWaiting: null },
  timeline: []
}

const answer: Answer = {
  program: 1,
  time: 0,
  memories: [{ memory: "frames", device: "llvmpipe", number: 1, counts: { hits: 1 } }]
}

const fleet: FleetReport.Seen = {
  time: 0,
  status: statusOf([hostOf("render-1", [deviceOf("0", 5, { labels: { kind: "discrete", [hostile]: "y" } })])], {
    waiters: 2,
    waiting: [
      { id: "1", label: "tile", bytes: 1, where: { host: "a", device: "0", backend: "b" }, waitedMillis: 1 },
      { id: "2", label: undefined, bytes: 1, where: { labels: { [hostile]: "c" } }, waitedMillis: 1 }
    ]
  })
}

/** The text of a fleet whose states are as the broker's schema has them. */
const fleetText = (seen: FleetReport.Seen): string => {
  const hosts = seen.status.hosts.map((host) => ({ ...host, state: "current" as const }))
  return FleetReport.text({ ...seen, status: { ...seen.status, hosts } }, none, endless)
}

const topText = (answer: Answer): string => {
  const watched = new Watched()
  watched.add(answer)
  return TopReport.text(watched, none, endless)
}

/** The text of a report, without and with the hostile text. */
type Printed = readonly [name: string, clean: string, spoilt: string]

const printed = <A>(name: string, report: A, text: (report: A) => string): Printed => [
  name,
  text(report),
  text(spoilt(report))
]

describe("what commands print for people", () => {
  it.each<Printed>([
    printed("devices", devices, (report) => DeviceReport.table(report, Infinity)),
    printed("devices --verbose", devices, DeviceReport.sections),
    printed("doctor", doctor, (report) => DoctorReport.text(report, none)),
    printed("bench", bench, (report) => BenchReport.text(report, none)),
    printed("replay", replay, (report) => ReplayText.text(report, Infinity)),
    printed("a failure of replay", failed, (report) => ReplayText.firstFailure(report) ?? ""),
    printed("plan", plan, (report) => PlanText.text(report, Infinity)),
    printed("top", answer, topText),
    printed("fleet", fleet, fleetText)
  ])("has as many lines for any text: %s", (_, clean, spoilt) => {
    assert.notMatch(clean, steering)
    assert.notMatch(spoilt, steering)
    assert.include(spoilt, "\\u009b2J")
    strictEqual(spoilt.split("\n").length, clean.split("\n").length)
  })
})

describe("what commands print for scripts", () => {
  it.each([
    ["devices", json(spoilt(devices), 2), spoilt(devices)],
    ["doctor", json(spoilt(doctor), 2), spoilt(doctor)],
    ["replay", json(spoilt(replay), 2), spoilt(replay)]
  ])("parses back to the same texts, and steers no terminal: %s", (_, text, report) => {
    assert.notMatch(text, steering)
    deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(report)))
  })

  it("is so of what a broker says", () => {
    const text = FleetReport.json(spoilt(fleet), 2)
    assert.notMatch(text, steering)
    const { hosts: [host] } = JSON.parse(text) as { readonly hosts: ReadonlyArray<{ readonly name: string }> }
    strictEqual(host!.name, `render-1${hostile}`)
  })

  it("is so of what programs report to top", () => {
    const text = TopReport.json(spoilt(answer))
    assert.notMatch(text, steering)
    assert.notInclude(text, "\n")
    const { memories: [memory] } = JSON.parse(text) as { memories: ReadonlyArray<Record<string, unknown>> }
    deepStrictEqual(memory, {
      hits: 1,
      memory: `frames${hostile}`,
      device: `llvmpipe${hostile}`,
      number: 1,
      hitRate: 1
    })
  })
})
