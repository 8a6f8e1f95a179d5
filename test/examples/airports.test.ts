/** The demo: right on every backend, with a message for absent ones, and without leaks however it ends. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { BufferPool, DeviceContext, type PoolStats } from "effect-gpu-pool"
import type { DriverObjects } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Airports from "../../examples/airports/Airports.ts"
import * as Backends from "../../examples/airports/Backends.ts"
import * as Comparison from "../../examples/airports/Comparison.ts"
import * as NearestNeighbours from "../../examples/airports/NearestNeighbours.ts"
import { Progress } from "../../examples/airports/Progress.ts"
import * as Reference from "../../examples/airports/Reference.ts"
import * as Report from "../../examples/airports/Report.ts"
import { type Backend as Requirement, describeWith, oclgrindVendors, openClDriversIn } from "../support/required.ts"

const airports = Effect.provide(Airports.read, NodeFileSystem.layer)

/** The westernmost and the easternmost ones first, so that few have the longest distances too. */
const fewAirports = (count: number) =>
  Effect.map(airports, (all) => {
    const byLongitude = [...all].sort((a, b) => a.longitude - b.longitude)
    return [...byLongitude.slice(-4), ...byLongitude].slice(0, count)
  })

const options = { rowsPerTile: 64, rounds: 1 }
const silent = { rowsPerTile: options.rowsPerTile, onRows: () => Effect.void }
const [, , , fused] = Comparison.ways

/** A backend, and the driver objects of every device that was opened on it. */
const watched = (backend: Backends.Backend) => {
  const opened: Array<DriverObjects.DriverObjects> = []
  const layer = Layer.tap(
    backend.layer,
    (context) => Effect.sync(() => opened.push(Context.get(context, DeviceContext.DeviceContext).driverObjects))
  )
  return { backend: { name: backend.name, layer }, opened }
}

const host = (hostOptions?: Host.HostOptions) => watched({ name: "host", layer: Host.layer(hostOptions) })

const assertNothingLeft = (opened: ReadonlyArray<DriverObjects.DriverObjects>, devices: number) => {
  assert.deepStrictEqual(opened.map(({ liveByKind }) => liveByKind), Array.from({ length: devices }, () => ({})))
  assert.isTrue(opened.every(({ created }) => created > 0))
}

const compare = Effect.fnUntraced(function*(backend: Backends.Backend, count: number) {
  const some = yield* fewAirports(count)
  const reference = yield* Reference.run(some, silent)
  const outcome = yield* Comparison.run(backend, some, reference, options)
  return { some, reference, outcome }
}, Effect.provide(Progress.layerSilent))

const measured = (outcome: Comparison.Outcome): Comparison.Measured => {
  if (outcome._tag === "Measured") return outcome
  throw new Error(Report.table([outcome]))
}

const assertRight = Effect.fnUntraced(function*(backend: Backends.Backend, count: number) {
  const { backend: device, opened } = watched(backend)
  const { outcome, reference, some } = yield* compare(device, count)
  const { measurements, neighbours } = measured(outcome)
  assert.deepStrictEqual(measurements.map(({ way }) => way), Comparison.ways.map(({ name }) => name))
  for (const { errorMeters, way } of measurements) assert.isAtMost(errorMeters, Reference.toleranceMeters, way)
  assert.strictEqual(measurements[0]!.errorMeters, Reference.largestError(reference, neighbours))
  assert.deepStrictEqual(
    Report.mostIsolated(some, neighbours, 3).map(({ airport, nearest }) => [airport, nearest]),
    Report.mostIsolated(some, reference, 3).map(({ airport, nearest }) => [airport, nearest])
  )
  assertPooling(measurements.map(({ stats }) => stats))
  assertNothingLeft(opened, 1)
})

/** Each way needs less memory or fewer allocations than the one before. */
const assertPooling = ([unpooled, eager, scoped, fused]: ReadonlyArray<PoolStats.PoolStats>) => {
  assert(unpooled !== undefined && eager !== undefined && scoped !== undefined && fused !== undefined)
  assert.strictEqual(unpooled.hits, 0)
  assert.strictEqual(unpooled.driverFrees, unpooled.driverAllocations)
  assert.strictEqual(unpooled.driverAllocations, eager.hits + eager.misses)
  assert.isAtMost(eager.driverAllocations, unpooled.driverAllocations / 4)
  assert.isBelow(scoped.peakActiveBytes, 0.8 * eager.peakActiveBytes)
  assert.isBelow(fused.peakActiveBytes, 0.4 * eager.peakActiveBytes)
  assert.isBelow(fused.hits + fused.misses, 0.6 * (eager.hits + eager.misses))
  for (const { activeBlocks } of [unpooled, eager, scoped, fused]) assert.strictEqual(activeBlocks, 0)
}

const count = 600

describe("airports on the host", () => {
  it.live("is right, and pools", () => assertRight(host().backend, count))

  it.live("finds the most isolated airports of all 3,376", () =>
    Effect.gen(function*() {
      const all = yield* airports
      const neighbours = yield* NearestNeighbours.run(all, { ...silent, form: fused.form }).pipe(
        Effect.provide(BufferPool.layer()),
        Effect.provide(Host.layer())
      )
      assert.strictEqual(all.length, 3376)
      assert.deepStrictEqual(Report.mostIsolated(all, neighbours, 3).map(({ airport }) => airport.name), [
        "Prachinburi",
        "Tinian International Airport",
        "Babelthoup/Koror"
      ])
    }))

  it.live.each([2, 3, 64, 65, 66, 129])("has no trouble with %i airports", (count) =>
    Effect.gen(function*() {
      const { outcome } = yield* compare(host().backend, count)
      assert.deepStrictEqual(Report.problems([measured(outcome)]), [])
    }))

  it.live("gives everything back when it is interrupted", () =>
    Effect.gen(function*() {
      const { backend, opened } = host()
      const underWay = yield* Deferred.make<void>()
      const onRows = () => Effect.andThen(Deferred.succeed(underWay, undefined), Effect.never)
      const job = yield* NearestNeighbours.run(yield* airports, { form: fused.form, rowsPerTile: 8, onRows }).pipe(
        Effect.provide(BufferPool.layer()),
        Effect.provide(backend.layer),
        Effect.forkChild
      )
      yield* Deferred.await(underWay)
      yield* Fiber.interrupt(job)
      assertNothingLeft(opened, 1)
    }))

  it.live("has a row for a device without enough memory, and a problem to end with", () =>
    Effect.gen(function*() {
      const { backend, opened } = host({ capacityBytes: 400_000 })
      const { outcome } = yield* compare(backend, count)
      assert.include(Report.table([outcome]).replaceAll(/[\s│]+/g, " "), "failed: Out of memory: ")
      assert.match(Report.problems([outcome]).join("\n"), /^host failed: Out of memory: /)
      assertNothingLeft(opened, 1)
    }))

  it.live("has a row for a missing device that says why and how to get it", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      faults.failOpenings({ why: "no such driver" })
      const { outcome, some } = yield* compare(host({ faults }).backend, 10)
      const report = Report.text(some, [outcome]).replaceAll(/[\s│]+/g, " ")
      assert.include(report, "not here: process memory: no such driver")
      assert.include(report, "call clear() on its faults to open one")
      assert.notInclude(report, "most isolated")
      assert.deepStrictEqual(Report.problems([outcome]), [])
    }))
})

describe("airports against float64", () => {
  const found = Effect.gen(function*() {
    const some = yield* fewAirports(100)
    const reference = yield* Reference.run(some, silent)
    const copy = {
      nearest: reference.nearest.slice(),
      nearestMeters: reference.nearestMeters.slice(),
      meanMeters: reference.meanMeters.slice()
    }
    return { reference, copy }
  })

  it.effect("has no error against itself", () =>
    Effect.gen(function*() {
      const { copy, reference } = yield* found
      assert.strictEqual(Reference.largestError(reference, copy), 0)
    }))

  it.effect.each(["nearestMeters", "meanMeters"] as const)(
    "sees a wrong entry of %s",
    (name) =>
      Effect.gen(function*() {
        const { copy, reference } = yield* found
        copy[name][50]! += 1000
        assert.closeTo(Reference.largestError(reference, copy), 1000, 1e-6)
      })
  )

  it.effect("sees a neighbour that is not the nearest, or no other airport", () =>
    Effect.gen(function*() {
      const { copy, reference } = yield* found
      copy.nearest[50] = reference.nearest[50] === 0 ? 1 : 0
      assert.isAbove(Reference.largestError(reference, copy), Reference.toleranceMeters)
      for (const wrong of [50, 100, 0xffffffff]) {
        copy.nearest[50] = wrong
        assert.strictEqual(Reference.largestError(reference, copy), Infinity)
      }
    }))

  it.live("turns errors beyond the tolerance into problems", () =>
    Effect.gen(function*() {
      const { outcome } = yield* compare(host().backend, 10)
      const wrong = [15, 16, NaN, 1e-3]
      const measurements = measured(outcome).measurements.map((measurement, at) => ({
        ...measurement,
        errorMeters: wrong[at]!
      }))
      assert.deepStrictEqual(Report.problems([{ ...measured(outcome), measurements }]), [
        "host, eager, is wrong by 16 m, more than the 15 m allowed",
        "host, scoped, is wrong by NaN m, more than the 15 m allowed"
      ])
    }))

  it.live("says which file is no table of airports", () =>
    Effect.gen(function*() {
      for (const file of [import.meta.filename, "/nowhere/airports.csv"]) {
        const error = yield* Airports.readFrom(file).pipe(Effect.provide(NodeFileSystem.layer), Effect.flip)
        assert.strictEqual(error._tag, "AirportsUnreadable")
        assert.include(error.message, file)
      }
    }))
})

const devices: ReadonlyArray<Requirement & Backends.Choice> = ["webgpu", "opencl"]

for (const choice of devices) {
  describeWith([choice], `airports on ${choice}`, () => {
    it.live("is right, and pools", () =>
      Effect.gen(function*() {
        const backends = yield* Backends.find([choice])
        assert.isNotEmpty(backends)
        yield* Effect.forEach(backends, (backend) => assertRight(backend, count))
      }))
  })
}

const main = join(import.meta.dirname, "../../examples/airports/main.ts")

interface Printed {
  readonly backends: ReadonlyArray<Record<string, unknown>>
  readonly mostIsolated: ReadonlyArray<unknown>
}

/** Runs the demo as a process of its own, because the loaders of drivers read their environment only once. */
const runDemo = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { status, stdout, stderr }
  })

const few = ["--json", "--rounds", "1", "--rows-per-tile", "16", "--airports", "40"]

describe("npm run demo", () => {
  it.live("runs on a bare machine: the host, and rows for what is missing", () =>
    Effect.gen(function*() {
      const nothing = mkdtempSync(join(tmpdir(), "airports-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(nothing, { recursive: true })))
      const absent = join(nothing, "none.json")
      const { status, stderr, stdout } = yield* runDemo(few, {
        ...openClDriversIn(nothing),
        VK_ICD_FILENAMES: absent,
        VK_DRIVER_FILES: absent
      })
      assert.strictEqual(status, 0, stderr)
      const { backends, mostIsolated } = JSON.parse(stdout) as Printed
      assert.deepStrictEqual(backends.map(({ _tag, backend }) => [_tag, backend]), [
        ["Measured", "host"],
        ["Missing", "webgpu"],
        ["Missing", "opencl"]
      ])
      for (const { hint, why } of backends.slice(1)) assert.match(`${why}. ${hint}`, /\w.*npm run drivers/s)
      assert.strictEqual(mostIsolated.length, 3)
    }))
})

describeWith(["oclgrind"], "npm run demo on Oclgrind", () => {
  it.live("is right, and Oclgrind finds no wrong access", () =>
    Effect.gen(function*() {
      const { status, stderr, stdout } = yield* runDemo([...few, "--backend", "oclgrind"], {
        ...openClDriversIn(oclgrindVendors() ?? "")
      })
      assert.strictEqual(status, 0, stderr)
      assert.strictEqual(stderr, "")
      const { backends } = JSON.parse(stdout) as Printed
      assert.deepStrictEqual(backends.map(({ _tag, backend }) => [_tag, backend]), [["Measured", "oclgrind"]])
    }))
})
