/** The game of life: right against a program without a device, the same in every kind of memory, and nothing left behind. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { BufferPool, DeviceContext } from "effect-gpu-pool"
import type { DriverObjects } from "effect-gpu-pool/backend"
import { OpenCl, Svm } from "effect-gpu-pool/opencl"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import * as Life from "../../examples/svm/Life.ts"
import { describeWith } from "../support/required.ts"

const memories: ReadonlyArray<Life.Memory> = ["fine", "coarse", "buffers"]

/** The rule by its words, on the picture of the generation before. */
const reference = (rows: ReadonlyArray<string>): ReadonlyArray<string> => {
  const size = rows.length
  const lives = (row: number, column: number) => rows[(row + size) % size]![(column + size) % size] === "#"
  return rows.map((cells, row) =>
    Array.from(cells, (_, column) => {
      const around = [-1, 0, 1].flatMap((down) => [-1, 0, 1].map((right) => [down, right] as const))
        .filter(([down, right]) => (down !== 0 || right !== 0) && lives(row + down, column + right)).length
      return around === 3 || (around === 2 && lives(row, column)) ? "#" : "."
    }).join("")
  )
}

const playIn = (memory: Life.Memory, size: number, generations: number) =>
  Effect.gen(function*() {
    const opened: Array<DriverObjects.DriverObjects> = []
    const device = Layer.tap(
      OpenCl.layer(),
      (context) => Effect.sync(() => opened.push(Context.get(context, DeviceContext.DeviceContext).driverObjects))
    )
    const pool = memory === "buffers" ? BufferPool.layer() : Svm.layerPool({ grain: memory })
    const world = yield* Effect.gen(function*() {
      const world = yield* Life.play({ size, generations, memory })
      assert.strictEqual((yield* BufferPool.stats).activeBlocks, 0)
      return world
    }).pipe(Effect.provide(Layer.provideMerge(pool, device)))
    assert.deepStrictEqual(opened.map(({ liveByKind }) => liveByKind), [{}])
    return world
  })

/** Tests for each memory, where the device has it. */
const describeIn = (title: string, tests: (memory: Life.Memory) => void): void => {
  for (const memory of memories) {
    describeWith([memory === "fine" ? "finegrain" : "opencl"], title, () => tests(memory))
  }
}

describeIn("the game of life", (memory) => {
  it.live(`in ${memory} is what its rule says, generation by generation`, () =>
    Effect.gen(function*() {
      let rows = (yield* playIn(memory, 12, 0)).rows
      assert.deepStrictEqual(rows.slice(4, 9), [
        "............",
        "......##....",
        ".....##.....",
        "......#.....",
        "............"
      ])
      for (let generation = 1; generation < 8; generation++) {
        const world = yield* playIn(memory, 12, generation)
        rows = reference(rows)
        assert.deepStrictEqual(world.rows, rows)
        assert.strictEqual(world.living, rows.join("").split("#").length - 1)
      }
    }))
})

const main = join(import.meta.dirname, "../../examples/svm/main.ts")

const run = (args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    const ended = new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve))
    const [status, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
    return { status, stdout, stderr }
  })

describeIn("npm run svm", (memory) => {
  it.live(`draws the last generation, in ${memory}`, () =>
    Effect.gen(function*() {
      const { status, stderr, stdout } = yield* run(["--size", "16", "--generations", "4", "--memory", memory])
      assert.strictEqual(status, 0, stderr)
      assert.include(stdout, "\n.......#.#......\n......#..#......\n")
      assert.include(stdout, "8 cells live after 4 generations of 16 x 16")
      assert.include(stdout, memory === "buffers" ? "in buffers" : `in shared memory of ${memory} grain`)
    }))
})
