/** `npm run stream`, with options after `--`: `npm run stream -- --help`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Duration, Effect, FileSystem, Layer, Option, Path } from "effect"
import { BufferPool, DeviceContext, DeviceMemory, type GpuError, StagingPool } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Command, Flag } from "effect/cli"
import { Progress } from "../airports/Progress.ts"
import * as Mask from "./Mask.ts"

type DeviceLayer = Layer.Layer<Device.Services, GpuError.GpuError>

const choices = ["host", "webgpu", "opencl"] as const

const devices: { readonly [choice in typeof choices[number]]: DeviceLayer } = {
  host: Host.layer(),
  webgpu: WebGpu.layer(),
  opencl: OpenCl.layer()
}

const MiB = 2 ** 20

const positive = (name: string) => Flag.Int(name).pipe(Flag.filter((n) => n > 0, () => "a positive whole number"))

const flags = {
  in: Flag.String("in").pipe(
    Flag.optional,
    Flag.withDescription("The file to mask (default: one that is made for the purpose)")
  ),
  out: Flag.String("out").pipe(
    Flag.optional,
    Flag.withDescription("The file to write (default: one that is deleted at the end)")
  ),
  size: positive("size").pipe(Flag.withDefault(512 * MiB), Flag.withDescription("Bytes of the file that is made")),
  maxBytes: positive("max-bytes").pipe(
    Flag.withDefault(64 * MiB),
    Flag.withDescription("Device memory and staging memory, in bytes (default 64 MiB)")
  ),
  chunkSize: positive("chunk-size").pipe(
    Flag.withDefault(4 * MiB),
    Flag.withDescription("Bytes that go together, a multiple of 4 (default 4 MiB)")
  ),
  inFlight: positive("in-flight").pipe(
    Flag.withDefault(3),
    Flag.withDescription("Chunks that are under way at a time (default 3)")
  ),
  key: Flag.Int("key").pipe(
    Flag.filter((key) => key >= 0 && key < 2 ** 32, () => "a whole number from 0 to 4294967295"),
    Flag.withDefault(42),
    Flag.withDescription("What to mask with: the same key takes the mask off again (default 42)")
  ),
  backend: Flag.Literals("backend", choices).pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What masks the file (default host, which needs no driver)")
  )
}

interface Options {
  readonly in: Option.Option<string>
  readonly out: Option.Option<string>
  readonly size: number
  readonly maxBytes: number
  readonly chunkSize: number
  readonly inFlight: number
  readonly key: number
  readonly backend: keyof typeof devices
}

const inMiB = (bytes: number): string => `${(bytes / MiB).toFixed(1)} MiB`

/** The bytes of buffers and of staging memory count together. */
const pools = ({ maxBytes }: Options) =>
  Layer.merge(BufferPool.layerShared(), StagingPool.layerShared()).pipe(
    Layer.provideMerge(DeviceMemory.layer({ maxBytes }))
  )

const run = Effect.fn("main.run")(function*(options: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const progress = yield* Progress
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "effect-gpu-pool-" })
  const from = Option.getOrElse(options.in, () => path.join(folder, "made"))
  const to = Option.getOrElse(options.out, () => path.join(folder, "masked"))
  if (Option.isNone(options.in)) yield* Mask.makeFile(from, options.size)
  const size = Number((yield* fs.stat(from)).size)
  const masking = progress.track("masked", size, (advance) => Mask.mask({ ...options, from, to }, advance))
  const [duration, checksum] = yield* Effect.timed(masking)
  const { name } = yield* DeviceContext.info
  const { peakManagedBytes } = yield* DeviceMemory.stats
  yield* Console.log(
    `${inMiB(size)} through ${name}, in ${Duration.toMillis(duration).toFixed(0)} ms\n` +
      `buffers and staging memory: ${inMiB(peakManagedBytes)} at most, of ${inMiB(options.maxBytes)}\n` +
      `SHA-256, as it should be: ${checksum}`
  )
}, Effect.scoped)

const command = Command.make(
  "stream",
  flags,
  (options) =>
    Effect.provide(
      run(options),
      Layer.merge(Progress.layer, Layer.provideMerge(pools(options), devices[options.backend]))
    )
).pipe(Command.withDescription("Takes a large file through a kernel and back to a file, in little memory"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
