/** `npm run relief`, with options after `--`: `npm run relief -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Duration, Effect, FileSystem, Layer } from "effect"
import { BufferPool, DeviceContext, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Command, Flag } from "effect/cli"
import { png as pngOf } from "./Picture.ts"
import * as Relief from "./Relief.ts"
import * as Volcano from "./Volcano.ts"

type DeviceLayer = Layer.Layer<Device.Services, GpuError.GpuError>

const choices = ["host", "webgpu", "opencl"] as const

const devices: { readonly [choice in typeof choices[number]]: DeviceLayer } = {
  host: Host.layer(),
  webgpu: WebGpu.layer(),
  opencl: OpenCl.layer()
}

const flags = {
  out: Flag.String("out").pipe(
    Flag.withDefault("relief.png"),
    Flag.withDescription("The file to write (default relief.png)")
  ),
  scale: Flag.Int("scale").pipe(
    Flag.filter((scale) => scale >= 1 && scale <= 64, () => "a whole number from 1 to 64"),
    Flag.withDefault(8),
    Flag.withDescription("Pixels from one of the 87 x 61 heights to the next (default 8)")
  ),
  azimuth: Flag.Finite("azimuth").pipe(
    Flag.withDefault(315),
    Flag.withDescription("Where the light comes from: degrees clockwise from the top (default 315, the upper left)")
  ),
  altitude: Flag.Finite("altitude").pipe(
    Flag.filter((altitude) => altitude >= 0 && altitude <= 90, () => "degrees from 0 to 90"),
    Flag.withDefault(45),
    Flag.withDescription("How high the light stands: degrees above the horizon (default 45)")
  ),
  backend: Flag.Literals("backend", choices).pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What draws the picture (default host, which needs no driver)")
  )
}

type Options = Relief.ReliefOptions & { readonly out: string; readonly backend: keyof typeof devices }

const draw = Effect.fn("main.draw")(function*(options: Options) {
  const grid = yield* Volcano.read
  const [duration, picture] = yield* Effect.timed(Relief.draw(grid, options))
  const fs = yield* FileSystem.FileSystem
  const png = pngOf(picture)
  yield* fs.writeFile(options.out, png)
  const device = yield* DeviceContext.info
  const stats = yield* BufferPool.stats
  yield* Console.log(
    `${options.out}: ${picture.width} x ${picture.height} pixels, ${(png.byteLength / 1024).toFixed(0)} KiB\n` +
      `drawn on ${options.backend}, ${device.name}, in ${Duration.toMillis(duration).toFixed(0)} ms\n` +
      `pool: ${stats.hits + stats.misses} arrays in ${stats.misses} buffers, of which ${stats.hits} were used again; ` +
      `at most ${(stats.peakActiveBytes / 2 ** 20).toFixed(1)} MiB at one time`
  )
})

const command = Command.make(
  "relief",
  flags,
  (options) => Effect.provide(draw(options), Layer.provideMerge(BufferPool.layer(), devices[options.backend]))
).pipe(Command.withDescription("Draws a volcano in shaded relief, by array expressions"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
