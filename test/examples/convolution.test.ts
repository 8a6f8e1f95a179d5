/** The filtered picture: right against a program without images, the same on every backend, and nothing left behind. */
import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { BufferPool, DeviceContext, type GpuError } from "effect-gpu-pool"
import type { Device, DriverObjects } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { ImagePool } from "effect-gpu-pool/images"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { decode, encode } from "fast-png"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Convolution from "../../examples/convolution/Convolution.ts"
import * as Filters from "../../examples/convolution/Filters.ts"
import * as Picture from "../../examples/convolution/Picture.ts"
import { describeWith } from "../support/required.ts"

type Backend = Layer.Layer<
  Device.Services,
  GpuError.GpuError
>

/** The same in float64, pixel by pixel: the mean of the four pixels around each place, weighted by distance. */
const reference = (picture: Picture.Picture, { radius, weights }: Filters.Filter, scale: number): Picture.Picture => {
  const [width, height] = [picture.width * scale, picture.height * scale]
  const rgba = new Uint8Array(width * height * 4)
  const across = 2 * radius + 1
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const around = (dx: number, dy: number) => between(picture, (x + 0.5) / scale + dx, (y + 0.5) / scale + dy)
      const sum = [0, 0, 0, 0]
      weights.forEach((weight, tap) => {
        const color = around(tap % across - radius, Math.floor(tap / across) - radius)
        color.forEach((channel, at) => sum[at]! += weight * channel)
      })
      const color = [...sum.slice(0, 3).map(Math.abs), around(0, 0)[3]!]
      rgba.set(color.map((channel) => Math.round(Math.min(1, channel) * 255)), (y * width + x) * 4)
    }
  }
  return { width, height, rgba }
}

const between = ({ height, rgba, width }: Picture.Picture, x: number, y: number): ReadonlyArray<number> => {
  const [left, top] = [Math.floor(x - 0.5), Math.floor(y - 0.5)]
  const [right, below] = [x - 0.5 - left, y - 0.5 - top]
  return [0, 1, 2, 3].map((channel) => {
    const at = (dx: number, dy: number): number => {
      const column = Math.min(Math.max(left + dx, 0), width - 1)
      const row = Math.min(Math.max(top + dy, 0), height - 1)
      return rgba[(row * width + column) * 4 + channel]! / 255
    }
    const upper = at(0, 0) * (1 - right) + at(1, 0) * right
    return upper * (1 - below) + (at(0, 1) * (1 - right) + at(1, 1) * right) * below
  })
}

/** Filters on a backend, and checks that no driver object is left. */
const filterOn = (backend: Backend, picture: Picture.Picture, filter: Filters.Filter, scale: number) =>
  Effect.gen(function*() {
    const opened: Array<DriverObjects.DriverObjects> = []
    const watched = Layer.tap(
      backend,
      (context) => Effect.sync(() => opened.push(Context.get(context, DeviceContext.DeviceContext).driverObjects))
    )
    const pools = Layer.provideMerge(Layer.merge(BufferPool.layer(), ImagePool.layer()), watched)
    const filtered = yield* Effect.gen(function*() {
      const filtered = yield* Convolution.apply(picture, filter, { scale })
      assert.strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      assert.strictEqual((yield* ImagePool.stats).activeBlocks, 0)
      return filtered
    }).pipe(Effect.provide(pools))
    assert.deepStrictEqual(opened.map(({ liveByKind }) => liveByKind), [{}])
    return filtered
  })

/** The largest difference of any channel of any pixel. */
const largestDifference = (a: Picture.Picture, b: Picture.Picture): number => {
  assert.deepStrictEqual([a.width, a.height, a.rgba.length], [b.width, b.height, b.rgba.length])
  return a.rgba.reduce((largest, channel, at) => Math.max(largest, Math.abs(channel - b.rgba[at]!)), 0)
}

const picture = Picture.drawn(31, 22)

/**
 * A device may interpolate in only 256 steps between pixels; the edge filter's weights enlarge that error eightfold.
 */
const cases: ReadonlyArray<readonly [string, Filters.Filter, scale: number, levels: number]> = [
  ["a blur", Filters.blur(2), 1, 1],
  ["edges", Filters.edges, 1, 1],
  ["sharpening", Filters.sharpen, 1, 1],
  ["a blur of a larger picture", Filters.blur(3), 3, 2],
  ["edges of a larger picture", Filters.edges, 2, 16]
]

describe("convolution on the host", () => {
  it.live.each(cases)("is what a program without images makes: %s", ([, filter, scale]) =>
    Effect.gen(function*() {
      const filtered = yield* filterOn(Host.layer(), picture, filter, scale)
      assert.isAtMost(largestDifference(filtered, reference(picture, filter, scale)), 1)
    }))

  it.live("leaves the middle of a plain as it is, and finds no edge there", () =>
    Effect.gen(function*() {
      const plain = { width: 5, height: 5, rgba: new Uint8Array(100).fill(200) }
      for (const [filter, red] of [[Filters.blur(2), 200], [Filters.sharpen, 200], [Filters.edges, 0]] as const) {
        const { rgba } = yield* filterOn(Host.layer(), plain, filter, 1)
        assert.deepStrictEqual([...rgba.subarray(48, 52)], [red, red, red, 200])
      }
    }))
})

const devices: ReadonlyArray<readonly ["webgpu" | "opencl", Backend]> = [
  ["webgpu", WebGpu.layer()],
  ["opencl", OpenCl.layer()]
]

for (const [name, backend] of devices) {
  describeWith([name], `convolution on ${name}`, () => {
    it.live.each(cases)("is the same picture: %s", ([, filter, scale, levels]) =>
      Effect.gen(function*() {
        const filtered = yield* filterOn(backend, picture, filter, scale)
        assert.isAtMost(largestDifference(filtered, reference(picture, filter, scale)), levels)
      }))
  })
}

describe("pictures", () => {
  it.live("are read whatever channels they have", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      for (const channels of [1, 2, 3, 4] as const) {
        const data = Uint8Array.from({ length: 2 * channels }, (_, at) => at * 10)
        const file = join(folder, `${channels}.png`)
        writeFileSync(file, encode({ width: 2, height: 1, channels, depth: 8, data }))
        const { height, rgba, width } = yield* Effect.provide(Picture.read(file), NodeFileSystem.layer)
        assert.deepStrictEqual([width, height], [2, 1])
        assert.deepStrictEqual([...rgba], [...expectedPixels[channels]])
      }
    }))

  it.live("that are none are refused by the names of their files", () =>
    Effect.gen(function*() {
      for (const file of [import.meta.filename, "/nowhere/picture.png"]) {
        const error = yield* Picture.read(file).pipe(Effect.provide(NodeFileSystem.layer), Effect.flip)
        assert.strictEqual(error._tag, "PictureUnreadable")
        assert.include(error.message, file)
      }
    }))
})

const expectedPixels = {
  1: [0, 0, 0, 255, 10, 10, 10, 255],
  2: [0, 0, 0, 10, 20, 20, 20, 30],
  3: [0, 10, 20, 255, 30, 40, 50, 255],
  4: [0, 10, 20, 30, 40, 50, 60, 70]
} as const

const temporaryFolder = Effect.gen(function*() {
  const folder = mkdtempSync(join(tmpdir(), "convolution-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
  return folder
})

const main = join(import.meta.dirname, "../../examples/convolution/main.ts")

const runConvolution = (args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { status, stdout, stderr }
  })

describe("npm run convolution", () => {
  it.live("filters a PNG into another", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const [input, out] = [join(folder, "in.png"), join(folder, "out.png")]
      writeFileSync(input, Picture.toPng(picture))
      const args = ["--in", input, "--out", out, "--filter", "edges", "--scale", "2"]
      const { status, stderr, stdout } = yield* runConvolution(args)
      assert.strictEqual(status, 0, stderr)
      assert.include(stdout, `${out}: 62 x 44 pixels`)
      const { channels, data, height, width } = decode(readFileSync(out))
      assert.deepStrictEqual([width, height, channels], [62, 44, 4])
      const filtered = yield* filterOn(Host.layer(), picture, Filters.edges, 2)
      assert.deepStrictEqual(Uint8Array.from(data), filtered.rgba)
    }))
})
