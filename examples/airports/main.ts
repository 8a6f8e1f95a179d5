/** `npm run demo`, with options after `--`: `npm run demo -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { Command, Flag } from "effect/cli"
import * as Backends from "./Backends.ts"
import * as Demo from "./Demo.ts"
import { Progress } from "./Progress.ts"

const atLeast = (least: number) =>
  Flag.filter((value: number) => value >= least, () => `a whole number of at least ${least}`)

const flags = {
  backends: Flag.Literals("backend", Backends.choices).pipe(
    Flag.atLeast(0),
    Flag.map((chosen) => chosen.length === 0 ? Backends.defaultChoices : chosen),
    Flag.withDescription(
      "Run on this backend; can be repeated. Without it: host, webgpu and opencl (every platform but Oclgrind)"
    )
  ),
  rowsPerTile: Flag.Int("rows-per-tile").pipe(
    atLeast(1),
    Flag.withDefault(256),
    Flag.withDescription("How many rows of the distance matrix are on the device at one time (default 256)")
  ),
  rounds: Flag.Int("rounds").pipe(
    atLeast(1),
    Flag.withDefault(1),
    Flag.withDescription("How often each job is timed; the median counts (default 1)")
  ),
  airports: Flag.Int("airports").pipe(
    atLeast(2),
    Flag.withDefault(undefined),
    Flag.withDescription("Only the first so many airports")
  ),
  json: Flag.Boolean("json").pipe(Flag.withDefault(false), Flag.withDescription("Print JSON instead of a table"))
}

const command = Command.make("airports", flags, Demo.run).pipe(
  Command.withDescription(
    "The distances between all airports, on every backend of this machine: eager, scoped and fused"
  )
)

// Ctrl-C interrupts the program, which closes its scopes: every buffer and device goes back to its driver.
Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(Layer.merge(NodeServices.layer, Progress.layer)),
  NodeRuntime.runMain
)
