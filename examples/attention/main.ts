/** `npm run attention`, with options after `--`: `npm run attention -- --help`. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Duration, Effect, Layer } from "effect"
import { BufferPool, DeviceContext, type GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Command, Flag } from "effect/cli"
import * as Cache from "./Cache.ts"
import * as Decoding from "./Decoding.ts"
import * as Reference from "./Reference.ts"
import * as Transformer from "./Transformer.ts"
import * as Weights from "./Weights.ts"

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
  tokens: count("tokens", 100, 1000, "How many tokens there are"),
  heads: count("heads", 4, 8, "How many heads attend"),
  depth: count("depth", 16, 64, "How many numbers of a token a head sees"),
  room: count("room", 16, 1000, "For how many tokens the first cache has room"),
  backend: Flag.Literals("backend", choices).pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What computes (default host, which needs no driver)")
  )
}

interface Options extends Weights.Sizes, Decoding.Options {
  readonly backend: keyof typeof devices
}

const kibibytes = (bytes: number): string => `${(bytes / 1024).toFixed(1).padStart(9)} KiB`

const run = Effect.fn("main.run")(function*(options: Options) {
  const drawn = Weights.draw(options)
  const weights = yield* Weights.allToDevice(drawn)
  const tokens = yield* Weights.toDevice(Weights.drawTokens(options))
  const before = yield* BufferPool.stats
  const [duration, { cache, elements }] = yield* Effect.timed(Effect.gen(function*() {
    const { cache, outputs } = yield* Decoding.decode(weights, tokens, options)
    return { cache, elements: yield* DeviceArray.toHost(outputs) }
  }))
  const { peakActiveBytes } = yield* BufferPool.stats
  const stepBytes = yield* Transformer.step.peakBytes(weights, cache, ...yield* Decoding.tokenAt(tokens, 0))
  const errors = Reference.decode(options, drawn).map((value, at) => Math.abs(value - elements[at]!))
  const device = yield* DeviceContext.info
  yield* Console.log(
    `${options.tokens} tokens of ${Weights.widthOf(options)} numbers, on ${options.backend}, ${device.name}\n` +
      `${(Duration.toMillis(duration) / options.tokens).toFixed(2)} ms a token, kernels and traces included\n` +
      `largest difference from float64: ${
        errors.reduce((most, error) => Math.max(most, error), 0).toExponential(1)
      }\n` +
      `weights and tokens: ${kibibytes(before.activeBytes)}\n` +
      `cache:              ${kibibytes(Cache.bytesOf(cache))}, for ${Cache.roomOf(cache)} tokens\n` +
      `a step:             ${kibibytes(stepBytes)}\n` +
      `most at one time:   ${kibibytes(peakActiveBytes)}`
  )
}, Effect.scoped)

const command = Command.make(
  "attention",
  flags,
  (options) => Effect.provide(run(options), Layer.provideMerge(BufferPool.layer(), devices[options.backend]))
).pipe(
  Command.withDescription("Runs a transformer block token by token, with a cache of keys and values on device arrays")
)

Command.run(command, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
