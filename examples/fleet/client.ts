/** Draws the map on a fleet that is already there. Where it is comes from the environment: see Settings.ts. */
import { Fleet } from "@effect-gpu-pool/fleet"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { mapFlags } from "./MapFlags.ts"
import * as Settings from "./Settings.ts"
import type { Painted } from "./Tile.ts"
import * as WorldMap from "./WorldMap.ts"

const fleet = Effect.map(
  Settings.shared,
  ({ secret, storage }) => Layer.provide(Fleet.layerClient({ secret }), Settings.storageLayer(storage))
).pipe(Layer.unwrap)

const command = Command.make(
  "client",
  mapFlags,
  Effect.fnUntraced(function*({ out, ...options }) {
    const painted = new Map<string, number>()
    const count = ({ host }: Painted) => Effect.sync(() => void painted.set(host, (painted.get(host) ?? 0) + 1))
    yield* WorldMap.write(out, yield* WorldMap.draw(options, count))
    for (const [host, squares] of painted) yield* Console.log(`host ${host}: ${squares} squares`)
  }, Effect.provide(fleet))
).pipe(Command.withDescription("Draws a relief map of the Earth on a fleet"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
