/** The metrics of a fleet: the last status that was read, and nothing while none can be read. */
import { Fleet, FleetMetrics, type FleetModel } from "@effect-gpu-pool/fleet"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { BufferPools } from "effect-gpu-pool/devices"
import { Host } from "effect-gpu-pool/host"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { inOwnRegistry, named, series, valueOf } from "../../../../test/support/registries.ts"
import { measure } from "../../src/metrics/FleetSeries.ts"
import { deviceOf, hostOf, statusOf } from "../support/status.ts"

const whole = statusOf(
  [
    hostOf("a", [deviceOf("0", 300), deviceOf("1", 0, { backend: "opencl", capacity: 50 })]),
    hostOf("b", [deviceOf("0", 1000, { reservations: 4 })], { state: "draining" }),
    hostOf("c", [deviceOf("0", 7)], { state: "lost" })
  ],
  { waiters: 12, placed: 30, ended: 20, lost: 5 }
)

/** A fleet whose answers a test sets. */
class Answers {
  now: FleetModel.FleetStatus | "none"
  asked = 0

  constructor(now: FleetModel.FleetStatus | "none") {
    this.now = now
  }

  readonly status = Effect.suspend(() => {
    this.asked++
    return this.now === "none" ? Effect.fail("no broker") : Effect.succeed(this.now)
  })
}

describe("the metrics of a fleet", () => {
  it.effect("have its hosts, devices, bytes and reservations", () =>
    Effect.gen(function*() {
      yield* measure(Effect.succeed(whole), "5 seconds")
      const states = (yield* named("gpu_fleet_hosts")).map(({ attributes, value }) => [attributes["state"], value])
      deepStrictEqual(states, [["current", 1], ["draining", 1], ["lost", 1]])
      const devices = (yield* named("gpu_fleet_reserved_bytes")).map(({ attributes, value }) => [
        attributes["host"],
        attributes["device"],
        attributes["backend"],
        value
      ])
      deepStrictEqual(devices, [["a", "0", "webgpu", 300], ["a", "1", "opencl", 0], ["b", "0", "webgpu", 1000]])
      strictEqual(yield* valueOf("gpu_fleet_capacity_bytes", { host: "a", device: "1" }), 50)
      strictEqual(yield* valueOf("gpu_fleet_reservations", { host: "b" }), 4)
      strictEqual(yield* valueOf("gpu_fleet_waiters"), 12)
      for (const [name, value] of [["placed", 30], ["ended", 20], ["lost", 5]] as const) {
        strictEqual(yield* valueOf(`gpu_fleet_${name}_total`), value)
      }
    }).pipe(Effect.scoped, inOwnRegistry))

  it.effect("have names, units and descriptions as those of pools, and the attributes of the context", () =>
    Effect.gen(function*() {
      yield* measure(Effect.succeed(whole), "5 seconds")
      const snapshots = yield* Metric.snapshot
      assert.isAbove(snapshots.length, 10)
      for (const { attributes = {}, description, id, type } of snapshots) {
        strictEqual(id.endsWith("_bytes"), attributes["unit"] === "bytes", id)
        strictEqual(id.endsWith("_total"), type === "Counter", id)
        assert.match(description ?? "", /^[A-Z].+\.$/)
        strictEqual(attributes["region"], "north")
        assert.notStrictEqual(attributes["host"], "here")
      }
    }).pipe(
      Effect.scoped,
      Effect.provideService(Metric.CurrentMetricAttributes, { region: "north", device: "not this one" }),
      inOwnRegistry
    ))

  it.effect("follow the fleet, and lose the series of devices that are gone", () =>
    Effect.gen(function*() {
      const answers = new Answers(whole)
      yield* measure(answers.status, "2 seconds")
      answers.now = statusOf([hostOf("a", [deviceOf("0", 400)])], { waiters: 1, placed: 31 })
      strictEqual(yield* valueOf("gpu_fleet_waiters"), 12)
      yield* TestClock.adjust("1999 millis")
      strictEqual(answers.asked, 1)
      yield* TestClock.adjust("1 millis")
      strictEqual(answers.asked, 2)
      strictEqual(yield* valueOf("gpu_fleet_waiters"), 1)
      strictEqual(yield* valueOf("gpu_fleet_placed_total"), 31)
      const devices = (yield* named("gpu_fleet_reserved_bytes")).map(({ attributes, value }) => [
        `${attributes["host"]} ${attributes["device"]}`,
        value
      ])
      deepStrictEqual(devices, [["a 0", 400]])
      strictEqual(yield* valueOf("gpu_fleet_hosts", { state: "lost" }), 0)
    }).pipe(Effect.scoped, inOwnRegistry))

  it.effect("are none while no broker answers, which one warning says", () => {
    const warnings: Array<unknown> = []
    const logger = Logger.make(({ message }) => void warnings.push(message))
    return Effect.gen(function*() {
      const answers = new Answers("none")
      yield* measure(answers.status, "1 second")
      yield* TestClock.adjust("3 seconds")
      strictEqual(answers.asked, 4)
      deepStrictEqual(yield* series, [])
      strictEqual(warnings.length, 1)
      answers.now = whole
      yield* TestClock.adjust("1 second")
      strictEqual(yield* valueOf("gpu_fleet_waiters"), 12)
      answers.now = "none"
      yield* TestClock.adjust("2 seconds")
      deepStrictEqual(yield* series, [])
      strictEqual(warnings.length, 2)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])), inOwnRegistry)
  })

  it.live("are those of the program's fleet, by its layer", () =>
    Effect.scoped(Effect.gen(function*() {
      yield* Fleet.reserve({ bytes: 1024, label: "x" })
      yield* Layer.build(FleetMetrics.layer())
      strictEqual(yield* valueOf("gpu_fleet_reserved_bytes", { host: "here", device: "0", backend: "host" }), 1024)
      strictEqual(yield* valueOf("gpu_fleet_placed_total"), 1)
    })).pipe(
      Effect.provide(Fleet.layerLocal({ host: "here", devices: { "0": { maxBytes: 4096 } } })),
      Effect.provide(BufferPools.layer(() => Host.layer())),
      inOwnRegistry
    ))

  it.effect("end with the scope", () =>
    Effect.gen(function*() {
      const answers = new Answers(whole)
      const scope = yield* Scope.make()
      yield* Scope.provide(measure(answers.status, "5 seconds"), scope)
      assert.isAbove((yield* series).length, 10)
      yield* Scope.close(scope, yield* Effect.exit(Effect.void))
      deepStrictEqual(yield* series, [])
      yield* TestClock.adjust("1 hour")
      strictEqual(answers.asked, 1)
    }).pipe(inOwnRegistry))
})
