/** `npm run observed`, with options after `--`: `npm run observed -- --help`. */
import { NodeHttpServer, NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer, Option } from "effect"
import type { GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import { Command, Flag } from "effect/cli"
import { createServer } from "node:http"
import * as Service from "./Service.ts"

type DeviceLayer = Layer.Layer<Device.Services, GpuError.GpuError>

const choices = ["host", "webgpu", "opencl"] as const

const devices: { readonly [choice in typeof choices[number]]: DeviceLayer } = {
  host: Host.layer(),
  webgpu: WebGpu.layer(),
  opencl: OpenCl.layer()
}

const MiB = 2 ** 20

const flags = {
  port: Flag.Int("port").pipe(
    Flag.filter((port) => port >= 0 && port < 65_536, () => "a port, or 0 for any"),
    Flag.withDefault(8080),
    Flag.withDescription("Where it listens on this machine (default 8080)")
  ),
  maxBytes: Flag.Int("max-bytes").pipe(
    Flag.filter((bytes) => bytes > 0, () => "a positive whole number"),
    Flag.withDefault(64 * MiB),
    Flag.withDescription("Device memory of all requests together, in bytes (default 64 MiB)")
  ),
  collector: Flag.String("collector").pipe(
    Flag.optional,
    Flag.withDescription("The URL of an OpenTelemetry collector, as http://localhost:4318")
  ),
  backend: Flag.Literals("backend", choices).pipe(
    Flag.withDefault("host"),
    Flag.withDescription("What computes (default host, which needs no driver)")
  )
}

const command = Command.make(
  "observed",
  flags,
  ({ backend, collector, maxBytes, port }) =>
    Service.layer({ device: devices[backend], maxBytes, collector: Option.getOrUndefined(collector) }).pipe(
      Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" })),
      Layer.launch
    )
).pipe(Command.withDescription("Serves waves, with metrics for Prometheus and traces for OpenTelemetry"))

Command.run(command, { version: "0.1.0" }).pipe(
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
