/** A host of the fleet, which `main.ts` starts three times. What it is comes from its environment: see Settings.ts. */
import { Fleet } from "@effect-gpu-pool/fleet"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Effect, Layer, Option } from "effect"
import { Devices } from "effect-gpu-pool/devices"
import * as Earth from "./Earth.ts"
import * as Settings from "./Settings.ts"
import * as Tile from "./Tile.ts"

const fleet = Effect.gen(function*() {
  const { secret, storage } = yield* Settings.shared
  const { address, device, listen, maxBytes, name, port } = yield* Settings.host
  const earth = yield* Earth.read
  return Fleet.layerHost({
    host: name,
    address: { host: address, port },
    ...Option.match(listen, { onNone: () => ({}), onSome: (host) => ({ listen: { host, port } }) }),
    devices: { [device]: { maxBytes } },
    jobs: [Tile.handler(earth)],
    secret
  }).pipe(Layer.provide([Devices.layerPools({ pool: { maxBytes } }), Settings.storageLayer(storage)]))
}).pipe(Layer.unwrap)

const joined = Layer.effectDiscard(Effect.flatMap(Settings.host, ({ name }) => Console.log(Settings.hasJoined(name))))

joined.pipe(
  Layer.provide(fleet),
  Layer.launch,
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
