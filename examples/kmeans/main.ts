/** `npm run kmeans`, with options after `--`: `npm run kmeans -- --help`. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Duration, Effect, Layer } from "effect"
import { BufferPool, DeviceContext, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Command, Flag } from "effect/cli"
import * as KMeans from "./KMeans.ts"
import * as Points from "./Points.ts"

const choices = ["host", "webgpu", "opencl"] as const

const devices: { readonly [choice in typeof choices[number]]: Layer.Layer<Device.Services, GpuError.GpuError> } = {
  host: Host.layer(),
  webgpu: WebGpu.layer(),
  opencl: OpenCl.layer()
}

const count = (name: string, usual: number, most: number, description: string) =>
  Flag.Int(name).pipe(
    Flag.filter((value) => value >= 1 && value <= most, () => `a whole number from 1 to ${most}`),
    Flag.withDefault(usual),
    Flag.withDescription(`${description} (default ${usual})`)
  )

const flags = {
  points: count("points", 100_000, 10_000_000, "How many points there are"),
  clusters: count("clusters", 8, 12, "How many clusters they are put in"),
  dimensions: count("dimensions", 4, 8, "How many coordinates a point has"),
  rounds: count("rounds", 20, 1000, "How often the centres move"),
  backend: Flag.Literals("backend", choices).pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What computes (default host, which needs no driver)")
  )
}

interface Options extends Points.Shape {
  readonly rounds: number
  readonly backend: keyof typeof devices
}

const run = Effect.fn("main.run")(function*(options: Options) {
  const { clusters, dimensions, points, rounds } = options
  const data = yield* DeviceArray.fromHost(Points.around(options), { shape: [dimensions, points] })
  const first = yield* DeviceArray.fromHost(Points.first(options), { shape: [clusters, dimensions] })
  const [duration, centres] = yield* Effect.timed(
    Effect.flatMap(KMeans.cluster(data, first, rounds), DeviceArray.toNested)
  )
  const device = yield* DeviceContext.info
  const { peakActiveBytes } = yield* BufferPool.stats
  for (const centre of centres as ReadonlyArray<ReadonlyArray<number>>) {
    yield* Console.log(centre.map((coordinate) => coordinate.toFixed(3).padStart(8)).join(""))
  }
  yield* Console.log(
    `${clusters} centres of ${points} points in ${dimensions} dimensions, on ${options.backend}, ${device.name}\n` +
      `${(Duration.toMillis(duration) / rounds).toFixed(2)} ms a round, at most ${
        (peakActiveBytes / 2 ** 20).toFixed(1)
      } MiB`
  )
}, Effect.scoped)

const command = Command.make(
  "kmeans",
  flags,
  (options) => Effect.provide(run(options), Layer.provideMerge(BufferPool.layer(), devices[options.backend]))
).pipe(Command.withDescription("Finds clusters of points by k-means, on device arrays"))

Command.run(command, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
