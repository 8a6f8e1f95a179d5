/** The picture: right against a program without arrays, the same on every backend, and nothing left behind. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { BufferPool, DeviceContext } from "effect-gpu-pool"
import type { DriverObjects } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { decode } from "fast-png"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Backends from "../../examples/airports/Backends.ts"
import type { Picture } from "../../examples/relief/Picture.ts"
import * as Relief from "../../examples/relief/Relief.ts"
import * as Spline from "../../examples/relief/Spline.ts"
import * as Volcano from "../../examples/relief/Volcano.ts"
import { curve, lightOn, tint } from "../support/reliefReference.ts"
import { type Backend as Requirement, describeWith } from "../support/required.ts"

const volcano = Effect.provide(Volcano.read, NodeFileSystem.layer)

const options = { scale: 2, azimuth: 315, altitude: 45 }

/** The picture, in float64 and pixel by pixel. */
const reference = (grid: Volcano.Grid, { altitude, azimuth, scale }: Relief.ReliefOptions): Picture => {
  const width = (grid.width - 1) * scale + 1
  const height = (grid.height - 1) * scale + 1
  const at = heightsOf(grid, scale)
  const heights = Array.from({ length: width * height }, (_, pixel) => at(Math.floor(pixel / width), pixel % width))
  const lowest = Math.min(...heights)
  const range = Math.max(...heights) - lowest
  const rgb = heights.flatMap((meters, pixel) => {
    const [row, column] = [Math.floor(pixel / width), pixel % width]
    const right = (at(row, column + 1) - at(row, column - 1)) * scale / 20
    const down = (at(row + 1, column) - at(row - 1, column)) * scale / 20
    const shade = lightOn(2 * right, 2 * down, azimuth, altitude) *
      besideContour(meters, Math.hypot(right, down) * 10 / scale, scale)
    return tint((meters - lowest) / range).map((channel) => Math.min(255, channel * shade))
  })
  return { width, height, rgb: Uint8Array.from(rgb, Math.round) }
}

/** The surface's height at a pixel: by the spline's recursion, along each row and then across the rows. */
const heightsOf = ({ height, values, width }: Volcano.Grid, scale: number) => {
  const sample = (row: number, column: number): number =>
    along((c) => along((r) => values[r * width + c]!, height, row), width, column)
  const known = new Map<number, number>()
  return (row: number, column: number): number => {
    const key = row * 10_000 + column
    const value = known.get(key) ?? curve((r) => curve((c) => sample(r, c), column / scale), row / scale)
    known.set(key, value)
    return value
  }
}

/** Samples, extrapolated in a straight line beyond both ends. */
const along = (value: (index: number) => number, count: number, index: number): number => {
  if (index < 0) return value(0) + index * (value(1) - value(0))
  const last = count - 1
  return index > last ? value(last) + (index - last) * (value(last) - value(last - 1)) : value(index)
}

/** Lines at 0.5, 10.5, 20.5, ... metres, of 1.2 pixels on both sides. */
const besideContour = (meters: number, metersPerPixel: number, scale: number): number => {
  const beyond = ((meters - 0.5) % 10 + 10) % 10
  const pixels = Math.min(beyond, 10 - beyond) / Math.max(metersPerPixel, 0.03 * 10 / scale)
  return 1 - 0.3 * Math.min(1, Math.max(0, 1.2 - pixels))
}

/** A backend, and the driver objects of every device that was opened on it. */
const drawOn = (backend: Backends.Backend["layer"], grid: Volcano.Grid, options: Relief.ReliefOptions) =>
  Effect.gen(function*() {
    const opened: Array<DriverObjects.DriverObjects> = []
    const watched = Layer.tap(
      backend,
      (context) => Effect.sync(() => opened.push(Context.get(context, DeviceContext.DeviceContext).driverObjects))
    )
    const picture = yield* Effect.gen(function*() {
      const picture = yield* Relief.draw(grid, options)
      assert.strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      return picture
    }).pipe(Effect.provide(BufferPool.layer()), Effect.provide(watched))
    assert.deepStrictEqual(opened.map(({ liveByKind }) => liveByKind), [{}])
    return picture
  })

/** The largest difference of any channel of any pixel. */
const largestDifference = (a: Picture, b: Picture): number => {
  assert.deepStrictEqual([a.width, a.height, a.rgb.length], [b.width, b.height, b.rgb.length])
  return a.rgb.reduce((largest, channel, at) => Math.max(largest, Math.abs(channel - b.rgb[at]!)), 0)
}

const cases: ReadonlyArray<Relief.ReliefOptions> = [
  options,
  { scale: 3, azimuth: 100, altitude: 10 },
  { scale: 1, azimuth: -90, altitude: 90 }
]

describe("relief on the host", () => {
  it.live.each(cases)("is what a program without arrays draws: %j", (options) =>
    Effect.gen(function*() {
      const grid = yield* volcano
      const drawn = yield* drawOn(Host.layer(), grid, options)
      assert.isAtMost(largestDifference(drawn, reference(grid, options)), 1)
    }))

  it.live("is lit from the upper left, and in shade on the lower right", () =>
    Effect.gen(function*() {
      const peak = { width: 3, height: 3, values: [0, 0, 0, 0, 30, 0, 0, 0, 0] }
      const { rgb, width } = yield* drawOn(Host.layer(), peak, { ...options, scale: 10 })
      const green = (row: number, column: number): number => rgb[(row * width + column) * 3 + 1]!
      assert.isAbove(green(5, 5), 1.5 * green(15, 15))
    }))

  it.live("draws the smallest grid", () =>
    Effect.gen(function*() {
      const grid = { width: 2, height: 2, values: [0, 10, 20, 40] }
      const drawn = yield* drawOn(Host.layer(), grid, options)
      assert.isAtMost(largestDifference(drawn, reference(grid, options)), 1)
    }))
})

describe("the spline's matrix", () => {
  it("keeps straight lines, beyond the ends too", () => {
    const positions = [-0.5, 0, 0.25, 1, 2.75, 3, 3.5]
    const entries = Spline.matrix(positions, 4)
    const line = [5, 7, 9, 11]
    const values = positions.map((_, row) => line.reduce((sum, y, column) => sum + entries[row * 4 + column]! * y, 0))
    values.forEach((value, row) => assert.closeTo(value, 5 + 2 * positions[row]!, 1e-5))
  })
})

describe("the data", () => {
  it.live("is 87 x 61 heights", () =>
    Effect.gen(function*() {
      const { height, values, width } = yield* volcano
      assert.deepStrictEqual([width, height, Math.min(...values), Math.max(...values)], [87, 61, 94, 195])
    }))

  it.live("says which file is no grid", () =>
    Effect.gen(function*() {
      for (const file of [import.meta.filename, "/nowhere/volcano.json"]) {
        const error = yield* Volcano.readFrom(file).pipe(Effect.provide(NodeFileSystem.layer), Effect.flip)
        assert.strictEqual(error._tag, "GridUnreadable")
        assert.include(error.message, file)
      }
    }))
})

const devices: ReadonlyArray<Requirement & Backends.Choice> = ["webgpu", "opencl"]

for (const choice of devices) {
  describeWith([choice], `relief on ${choice}`, () => {
    it.live("is the host's picture, within one level", () =>
      Effect.gen(function*() {
        const grid = yield* volcano
        const onHost = yield* drawOn(Host.layer(), grid, options)
        for (const { layer } of yield* Backends.find([choice])) {
          const drawn = yield* drawOn(layer, grid, options)
          assert.isAtMost(largestDifference(drawn, onHost), 1)
          assert.isAtMost(largestDifference(drawn, reference(grid, options)), 1)
        }
      }))
  })
}

const main = join(import.meta.dirname, "../../examples/relief/main.ts")

const runRelief = (args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { status, stdout, stderr }
  })

describe("npm run relief", () => {
  it.live("writes a PNG and says what it made", () =>
    Effect.gen(function*() {
      const folder = mkdtempSync(join(tmpdir(), "relief-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
      const out = join(folder, "small.png")
      const { status, stderr, stdout } = yield* runRelief(["--scale", "2", "--out", out])
      assert.strictEqual(status, 0, stderr)
      assert.include(stdout, `${out}: 173 x 121 pixels`)
      const { channels, data, height, width } = decode(readFileSync(out))
      assert.deepStrictEqual([width, height, channels], [173, 121, 3])
      const drawn = yield* drawOn(Host.layer(), yield* volcano, { ...options, scale: 2 })
      assert.deepStrictEqual(Uint8Array.from(data), drawn.rgb)
    }))
})
