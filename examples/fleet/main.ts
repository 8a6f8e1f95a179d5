/** `npm run fleet`, with options after `--`: `npm run fleet -- --help`. */
import { Fleet, FleetStorage } from "@effect-gpu-pool/fleet"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Data, Duration, Effect, FileSystem, Layer, Path, Redacted } from "effect"
import { Devices } from "effect-gpu-pool/devices"
import { Command, Flag } from "effect/cli"
import { randomBytes } from "node:crypto"
import * as Bars from "./Bars.ts"
import * as Earth from "./Earth.ts"
import * as Hosts from "./Hosts.ts"
import { mapFlags } from "./MapFlags.ts"
import * as Tile from "./Tile.ts"
import * as WorldMap from "./WorldMap.ts"

/** The hosts, and for how many squares each has room at a time. */
const rooms = { a: 1, b: 2, c: 4 }
const names = Object.keys(rooms)

/** The host that is killed when half of the squares have come. */
const victim = "c"

const flags = {
  ...mapFlags,
  device: Flag.String("device").pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What paints: a selection, as webgpu or opencl (default host, which needs no driver)")
  )
}

interface Options extends WorldMap.MapOptions {
  readonly out: string
  readonly device: string
}

class PicturesDiffer extends Data.TaggedError("PicturesDiffer") {
  override get message(): string {
    return "one process draws other bytes than the fleet"
  }
}

/** The fleet: three processes, which end with the scope, and a layer for the program that uses them. */
const start = Effect.fn("main.start")(function*({ device, scale, size }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const storage = path.join(yield* fs.makeTempDirectoryScoped({ prefix: "effect-gpu-pool-" }), "fleet.db")
  const secret = Redacted.make(randomBytes(32).toString("hex"))
  const bytes = Tile.Tile.bytes({ x: 0, y: 0, scale, size })
  const hosts = yield* Effect.forEach(
    Object.entries(rooms),
    ([name, room]) => Hosts.start({ name, maxBytes: room * bytes, device, secret, storage }),
    { concurrency: "unbounded" }
  )
  const layer = Fleet.layerClient({ secret }).pipe(Layer.provide(FleetStorage.sqlite(storage)))
  return { hosts, layer }
})

/** One process, with room for as many squares as all hosts together. */
const alone = Effect.fn("main.alone")(function*({ device, scale, size }: Options) {
  const room = Object.values(rooms).reduce((sum, squares) => sum + squares)
  const maxBytes = room * Tile.Tile.bytes({ x: 0, y: 0, scale, size })
  const jobs = [Tile.handler(yield* Earth.read)]
  return Fleet.layerLocal({ host: "alone", devices: { [device]: { maxBytes } }, jobs }).pipe(
    Layer.provide(Devices.layerPools())
  )
})

/** Draws the map on the fleet, and kills a host on the way. */
const drawOnFleet = Effect.fn("main.drawOnFleet")(function*(options: Options) {
  const { hosts, layer } = yield* start(options)
  const total = WorldMap.squares(options).length
  const bars = yield* Bars.make(names, total)
  const painted = new Map(names.map((name) => [name, 0]))
  let come = 0
  const onSquare = Effect.fnUntraced(function*({ host }: Tile.Painted) {
    painted.set(host, (painted.get(host) ?? 0) + 1)
    bars.advance(host)
    come++
    if (come !== Math.ceil(total / 2)) return
    yield* Effect.forEach(hosts, ({ kill, name }) => name === victim ? kill : Effect.void)
    bars.say(victim, "killed")
  })
  // The layer says that the squares come from other processes; nothing else does.
  const [duration, picture] = yield* Effect.timed(Effect.provide(WorldMap.draw(options, onSquare), layer))
  return { duration, painted, picture, total }
}, Effect.scoped)

const inSeconds = (duration: Duration.Duration): string => `${Duration.toSeconds(duration).toFixed(1)} s`

const run = Effect.fn("main.run")(function*(options: Options) {
  const { duration, painted, picture, total } = yield* drawOnFleet(options)
  yield* WorldMap.write(options.out, picture)
  const lines = Object.entries(rooms).map(([name, room]) =>
    `host ${name}, room for ${room}: ${painted.get(name)} squares` + (name === victim ? ", then it was killed" : "")
  )
  yield* Console.log(
    `${options.out}: ${picture.width} x ${picture.height} pixels in ${total} squares, in ${inSeconds(duration)}\n` +
      lines.join("\n")
  )
  const layer = yield* alone(options)
  const [durationAlone, pictureAlone] = yield* Effect.timed(
    Effect.provide(WorldMap.draw(options, () => Effect.void), layer)
  )
  if (Buffer.compare(picture.rgb, pictureAlone.rgb) !== 0) return yield* new PicturesDiffer()
  yield* Console.log(`one process draws the same bytes, in ${inSeconds(durationAlone)}`)
})

const command = Command.make("fleet", flags, run).pipe(
  Command.withDescription("Draws a relief map of the Earth on three processes, of which one is killed")
)

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
