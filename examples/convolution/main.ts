/** `npm run convolution`, with options after `--`: `npm run convolution -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Duration, Effect, FileSystem, Layer, Option } from "effect"
import { BufferPool, DeviceContext, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { ImagePool } from "effect-gpu-pool/images"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Command, Flag } from "effect/cli"
import * as Convolution from "./Convolution.ts"
import * as Filters from "./Filters.ts"
import * as Picture from "./Picture.ts"

type DeviceLayer = Layer.Layer<Device.Services, GpuError.GpuError>

const choices = ["host", "webgpu", "opencl"] as const

const devices: { readonly [choice in typeof choices[number]]: DeviceLayer } = {
  host: Host.layer(),
  webgpu: WebGpu.layer(),
  opencl: OpenCl.layer()
}

const filters = {
  blur: Filters.blur,
  edges: () => Filters.edges,
  sharpen: () => Filters.sharpen
}

const flags = {
  in: Flag.String("in").pipe(
    Flag.optional,
    Flag.withDescription("A PNG file to filter (default: a picture that is drawn for the purpose)")
  ),
  out: Flag.String("out").pipe(
    Flag.withDefault("convolution.png"),
    Flag.withDescription("The file to write (default convolution.png)")
  ),
  filter: Flag.Literals("filter", ["blur", "edges", "sharpen"]).pipe(
    Flag.withDefault("blur"),
    Flag.withDescription("What to do with the picture (default blur)")
  ),
  radius: Flag.Int("radius").pipe(
    Flag.filter((radius) => radius >= 1 && radius <= 32, () => "a whole number from 1 to 32"),
    Flag.withDefault(4),
    Flag.withDescription("How far the blur reaches, in pixels (default 4)")
  ),
  scale: Flag.Int("scale").pipe(
    Flag.filter((scale) => scale >= 1 && scale <= 8, () => "a whole number from 1 to 8"),
    Flag.withDefault(1),
    Flag.withDescription("Pixels of the result for each of the picture, along each axis (default 1)")
  ),
  backend: Flag.Literals("backend", choices).pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What filters the picture (default host, which needs no driver)")
  )
}

interface Options {
  readonly in: Option.Option<string>
  readonly out: string
  readonly filter: keyof typeof filters
  readonly radius: number
  readonly scale: number
  readonly backend: keyof typeof devices
}

const run = Effect.fn("main.run")(function*(options: Options) {
  const picture = yield* Option.match(options.in, {
    onNone: () => Effect.succeed(Picture.drawn(512, 384)),
    onSome: Picture.read
  })
  const filter = filters[options.filter](options.radius)
  const [duration, filtered] = yield* Effect.timed(Convolution.apply(picture, filter, options))
  const fs = yield* FileSystem.FileSystem
  const png = Picture.toPng(filtered)
  yield* fs.writeFile(options.out, png)
  const device = yield* DeviceContext.info
  const { peakActiveBytes } = yield* ImagePool.stats
  yield* Console.log(
    `${options.out}: ${filtered.width} x ${filtered.height} pixels, ${(png.byteLength / 1024).toFixed(0)} KiB\n` +
      `${options.filter} of ${filter.weights.length} weights on ${options.backend}, ${device.name}, ` +
      `in ${Duration.toMillis(duration).toFixed(0)} ms; images of ${(peakActiveBytes / 2 ** 20).toFixed(1)} MiB`
  )
})

const pools = Layer.merge(BufferPool.layer(), ImagePool.layer())

const command = Command.make(
  "convolution",
  flags,
  (options) => Effect.provide(run(options), Layer.provideMerge(pools, devices[options.backend]))
).pipe(Command.withDescription("Filters a picture on a device, through an image and a sampler"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
