/** `npm run svm`, with options after `--`: `npm run svm -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Duration, Effect, Layer } from "effect"
import { BufferPool, DeviceContext } from "effect-gpu-pool"
import { OpenCl, Svm } from "effect-gpu-pool/opencl"
import { Command, Flag } from "effect/cli"
import * as Life from "./Life.ts"

const flags = {
  memory: Flag.Literals("memory", ["fine", "coarse", "buffers"]).pipe(
    Flag.withDefault("fine"),
    Flag.withDescription("Shared virtual memory of fine grain (default) or coarse grain, or ordinary buffers")
  ),
  size: Flag.Int("size").pipe(
    Flag.filter((size) => size >= 10 && size <= 4096, () => "a whole number from 10 to 4096"),
    Flag.withDefault(32),
    Flag.withDescription("Cells in a row, and rows (default 32)")
  ),
  generations: Flag.Int("generations").pipe(
    Flag.filter((count) => count >= 0, () => "a whole number, zero or more"),
    Flag.withDefault(60),
    Flag.withDescription("How often the kernel runs (default 60)")
  )
}

/** The most characters in a row of a picture, to fit a terminal. */
const widest = 120

/** The only thing that depends on the memory is the layer. */
const poolOf = (memory: Life.Memory) => memory === "buffers" ? BufferPool.layer() : Svm.layerPool({ grain: memory })

const report = Effect.fn("main.report")(function*(options: Life.LifeOptions) {
  const [duration, { living, rows }] = yield* Effect.timed(Life.play(options))
  const device = yield* DeviceContext.info
  if (options.size <= widest) yield* Console.log(rows.join("\n"))
  yield* Console.log(
    `${living} cells live after ${options.generations} generations of ${options.size} x ${options.size}\n` +
      `on ${device.name}, in ${
        options.memory === "buffers" ? "buffers" : `shared memory of ${options.memory} grain`
      }, ` +
      `in ${Duration.toMillis(duration).toFixed(0)} ms`
  )
})

const command = Command.make(
  "svm",
  flags,
  (options) => Effect.provide(report(options), Layer.provideMerge(poolOf(options.memory), OpenCl.layer()))
).pipe(Command.withDescription("Plays the game of life in memory that host and device share"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
