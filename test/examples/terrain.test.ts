/** The squares of the fleet's map: right against a program without arrays, without seams, and as large as they say. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Backends from "../../examples/airports/Backends.ts"
import * as Earth from "../../examples/fleet/Earth.ts"
import * as Terrain from "../../examples/fleet/Terrain.ts"
import { curve, lightOn, tint } from "../support/reliefReference.ts"
import { type Backend as Requirement, describeWith } from "../support/required.ts"

const earth = Effect.provide(Earth.read, NodeFileSystem.layer)

/** The heights at pixels, each computed once. */
const heightsOf = ({ meters }: Earth.Earth, scale: number) => {
  const sample = (row: number, column: number): number =>
    meters[Math.min(Math.max(row, 0), 1023) * 2048 + (column + 2048) % 2048]!
  const known = new Map<number, number>()
  return (y: number, x: number): number => {
    const key = y * 100_000 + x
    const value = known.get(key) ?? curve((row) => curve((column) => sample(row, column), x / scale), y / scale)
    known.set(key, value)
    return value
  }
}

/** The share of the sky above the horizon in eight directions, up to 12 steps away. */
const skyAt = (at: (y: number, x: number) => number, y: number, x: number, steepness: number): number => {
  const hidden = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]].map(([right = 0, down = 0]) => {
    const slopes = [1, 2, 3, 5, 8, 12].map((step) =>
      (at(y + step * down, x + step * right) - at(y, x)) * steepness / (step * Math.hypot(right, down))
    )
    return Math.sin(Math.atan(Math.max(0, ...slopes)))
  })
  return 1 - hidden.reduce((sum, one) => sum + one) / 8
}

/** The square, in float64 and pixel by pixel. */
const reference = (earth: Earth.Earth, { scale, size, x, y }: Terrain.Square): Uint8Array => {
  const at = heightsOf(earth, scale)
  const steepness = 12 * 2048 * scale / 40_075_000
  const pixels = Array.from({ length: size ** 2 }, (_, pixel) => {
    const [row, column] = [y + Math.floor(pixel / size), x + pixel % size]
    const right = (at(row, column + 1) - at(row, column - 1)) / 2 * steepness
    const down = (at(row + 1, column) - at(row - 1, column)) / 2 * steepness
    const shade = lightOn(right, down, 315, 45) * skyAt(at, row, column, steepness)
    const height = at(row, column)
    const land = Math.min(Math.max((height - 4) / 12, 0), 1)
    const colors = tint(Math.sqrt(Math.min(Math.max(height / 6000, 0), 1)))
    return [0x9c, 0xc3, 0xd6].map((sea, channel) => Math.min(255, (sea + (colors[channel]! - sea) * land) * shade))
  })
  return Uint8Array.from(pixels.flat(), Math.round)
}

/** Tibet, an island, the north-west corner with the date line and a pole, and the south-east corner. */
const squares: ReadonlyArray<Terrain.Square> = [
  { x: 1536, y: 320, size: 32, scale: 1 },
  { x: 1024 + 320, y: 352, size: 32, scale: 2 },
  { x: 0, y: 0, size: 32, scale: 1 },
  { x: 3 * 2048 - 32, y: 3 * 1024 - 32, size: 32, scale: 3 }
]

const paintOn = (backend: Backends.Backend["layer"], earth: Earth.Earth, square: Terrain.Square) =>
  Terrain.paint(earth, square).pipe(Effect.provide(BufferPool.layer()), Effect.provide(backend))

const largestDifference = (a: Uint8Array, b: Uint8Array): number => {
  assert.strictEqual(a.length, b.length)
  return a.reduce((largest, channel, at) => Math.max(largest, Math.abs(channel - b[at]!)), 0)
}

describe("squares of the map on the host", () => {
  it.live.each(squares)("are what a program without arrays paints: %j", (square) =>
    Effect.gen(function*() {
      const heights = yield* earth
      const painted = yield* paintOn(Host.layer(), heights, square)
      assert.isAtMost(largestDifference(painted, reference(heights, square)), 1)
    }))

  it.live("have no seams: four are the same bytes as one of their size", () =>
    Effect.gen(function*() {
      const heights = yield* earth
      const [whole, ...quarters] = yield* Effect.forEach(
        [[0, 0, 64], [0, 0, 32], [32, 0, 32], [0, 32, 32], [32, 32, 32]],
        ([x = 0, y = 0, size = 0]) => Terrain.paint(heights, { x: 1536 + x, y: 320 + y, size, scale: 2 })
      )
      const rows = Array.from({ length: 64 }, (_, row) =>
        [0, 1].map((side) =>
          quarters[2 * Math.floor(row / 32) + side]!.subarray(row % 32 * 96, (row % 32 + 1) * 96)
        ))
      assert.deepStrictEqual(Buffer.from(whole!), Buffer.concat(rows.flat()))
    }).pipe(Effect.provide(BufferPool.layer()), Effect.provide(Host.layer())))

  it.live.each([{ size: 32, scale: 1 }, { size: 64, scale: 8 }, { size: 256, scale: 2 }])(
    "take the bytes that they reserve, and leave none: %j",
    ({ scale, size }) =>
      Effect.gen(function*() {
        const square = { x: 1024, y: 256, size, scale }
        yield* Terrain.paint(yield* earth, square)
        const { activeBytes, peakActiveBytes } = yield* BufferPool.stats
        assert.deepStrictEqual([activeBytes, peakActiveBytes], [0, Terrain.bytesOf(square)])
      }).pipe(Effect.provide(BufferPool.layer()), Effect.provide(Host.layer()))
  )
})

describe("the Earth's heights", () => {
  it.live("are high in Tibet and in Antarctica, and 0 at sea", () =>
    Effect.gen(function*() {
      const { meters } = yield* earth
      const at = (north: number, east: number): number =>
        meters[Math.round((90 - north) / 180 * 1024) * 2048 + Math.round((east + 180) / 360 * 2048)]!
      assert.closeTo(at(33, 88), 5000, 300)
      assert.closeTo(at(-80, 90), 3500, 500)
      assert.deepStrictEqual([at(0, -30), at(40, -150), at(-30, 80)], [0, 0, 0])
    }))

  it.live("say which file has none", () =>
    Effect.gen(function*() {
      const picture = new URL("../../docs/relief.png", import.meta.url).pathname
      for (const file of [import.meta.filename, "/nowhere/earth.png", picture]) {
        const error = yield* Earth.readFrom(file).pipe(Effect.provide(NodeFileSystem.layer), Effect.flip)
        assert.strictEqual(error._tag, "EarthUnreadable")
        assert.include(error.message, file)
      }
    }))
})

const devices: ReadonlyArray<Requirement & Backends.Choice> = ["webgpu", "opencl"]

for (const choice of devices) {
  describeWith([choice], `squares of the map on ${choice}`, () => {
    it.live("are the host's, within one level, and take no more bytes", () =>
      Effect.gen(function*() {
        const heights = yield* earth
        for (const { layer } of yield* Backends.find([choice])) {
          for (const square of squares) {
            const painted = yield* Effect.gen(function*() {
              const rgb = yield* Terrain.paint(heights, square)
              assert.isAtMost((yield* BufferPool.stats).peakActiveBytes, Terrain.bytesOf(square))
              return rgb
            }).pipe(Effect.provide(Layer.provideMerge(BufferPool.layer(), layer)))
            assert.isAtMost(largestDifference(painted, yield* paintOn(Host.layer(), heights, square)), 1)
          }
        }
      }))
  })
}
