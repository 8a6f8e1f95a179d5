/** `npm run render`, with options after `--`: `npm run render -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Heat from "./Heat.ts"

const flags = {
  size: Flag.Int("size").pipe(
    Flag.filter((size) => size >= 8 && size <= 100, () => "a whole number from 8 to 100"),
    Flag.withDefault(32),
    Flag.withDescription("Points in a row, and rows (default 32)")
  ),
  frames: Flag.Int("frames").pipe(
    Flag.filter((count) => count > 0, () => "a positive whole number"),
    Flag.withDefault(120),
    Flag.withDescription("How many pictures (default 120)")
  ),
  loseAt: Flag.Int("lose-at").pipe(
    Flag.filter((frame) => frame >= 0, () => "a whole number, zero or more"),
    Flag.withDefault(60),
    Flag.withDescription("The frame in which the device is destroyed (default 60)")
  )
}

const shades = " .:-=+*#%@"

const drawn = (picture: Float32Array, size: number): string =>
  Array.from(
    { length: size },
    (_, row) =>
      Array.from(picture.subarray(row * size, (row + 1) * size), (heat) =>
        shades[Math.min(shades.length - 1, Math.floor(heat * shades.length))]).join("")
  ).join("\n")

const command = Command.make(
  "render",
  flags,
  Effect.fnUntraced(function*(options) {
    const { devices, frames, picture } = yield* Heat.animate(options)
    yield* Console.log(`${drawn(picture, options.size)}\n${frames} frames on ${devices} devices`)
  }, Effect.provide(Heat.Gpu.layer))
).pipe(Command.withDescription("Draws how heat spreads, on a device that is lost in the middle"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
