/** What a program needs to know of a device to be tuned to it: facts from the driver, and measurements. */
import { Duration, Effect, Layer } from "effect"
import { BufferPool, DeviceContext, type GpuError } from "effect-gpu-pool"
import { Devices, DeviceSelector, type ListedDevice, TransferSpeed } from "effect-gpu-pool/devices"
import { OpenCl, OpenClCharacteristics } from "effect-gpu-pool/opencl"
import { WebGpu, WebGpuCharacteristics } from "effect-gpu-pool/webgpu"

export interface Line {
  readonly name: string
  readonly value: string
}

export interface DeviceReport {
  readonly title: string
  readonly lines: ReadonlyArray<Line>
}

export interface MeasureOptions {
  /** Bytes of a transfer. */
  readonly bytes: number
  /** How long each kind of transfer is measured at least. */
  readonly atLeast: Duration.Input
}

const line = (name: string, value: unknown): Line => ({ name, value: value === undefined ? "unknown" : String(value) })

const inMiB = (bytes: number | undefined): string | undefined =>
  bytes === undefined ? undefined : `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 24 ? 2 : 0)} MiB`

const limits = Effect.map(DeviceContext.info, ({ driver, dtypes, limits }) => [
  line("driver", driver),
  line("memory", inMiB(limits.memoryBytes)),
  line("largest buffer", inMiB(limits.maxBufferSize)),
  line("largest workgroup", limits.maxWorkgroupSize),
  line("element types", [...dtypes].join(", "))
])

const ofOpenCl = Effect.map(OpenClCharacteristics.characteristics, (found) => [
  line("items in lockstep", found.simdGroupSize),
  line("workgroups in multiples of", found.workgroupSizeMultiple),
  line("local memory", inMiB(found.usableLocalMemoryBytes)),
  line("its banks", found.localMemoryBanks.banks ?? "none: it is global memory"),
  line("fast, inaccurate options", found.fastInaccurateBuildOptions.join(" ")),
  line("guessed of these", found.guessed.join(", ") || "nothing")
])

const ofWebGpu = Effect.map(WebGpuCharacteristics.characteristics, ({ localMemoryBytes, simdGroupSize }) => [
  line(
    "items in lockstep",
    simdGroupSize === undefined ? undefined : `${simdGroupSize.least} to ${simdGroupSize.most}`
  ),
  line("local memory", inMiB(localMemoryBytes))
])

const directions = [
  ["hostToDevice", "host to device"],
  ["deviceToHost", "device to host"],
  ["deviceToDevice", "device to device"]
] as const

const measured = ({ atLeast, bytes }: MeasureOptions) =>
  Effect.forEach(directions, ([direction, name]) =>
    Effect.map(
      Effect.all([
        TransferSpeed.measure(direction, bytes, { atLeast }),
        TransferSpeed.latency(direction, { atLeast })
      ]),
      ([speed, latency]) =>
        line(
          name,
          `${(speed.bytesPerSecond / 2 ** 30).toFixed(2)} GiB/s, ${
            (Duration.toMillis(latency.time) * 1e3).toFixed(0)
          } µs`
        )
    ))

const report = <E, R>(
  device: ListedDevice.ListedDevice,
  lines: Effect.Effect<ReadonlyArray<Line>, E, R>,
  options: MeasureOptions
) =>
  Effect.map(
    Effect.all([limits, lines, measured(options)]),
    (parts): DeviceReport => ({ title: `${device.backend}, ${nameOf(device)}`, lines: parts.flat() })
  )

const nameOf = ({ device, platform }: ListedDevice.ListedDevice): string =>
  [platform?.name, device?.name].filter((name) => name !== undefined).join(": ")

/** Opens a listed device with a pool on it, asks, measures, and closes it again. */
export const of = (
  device: ListedDevice.ListedDevice,
  options: MeasureOptions
): Effect.Effect<DeviceReport, GpuError.GpuError> => {
  if (device.unusable !== undefined) {
    return Effect.succeed({ title: `${device.backend}, ${nameOf(device)}`, lines: [line("unusable", device.unusable)] })
  }
  switch (device.backend) {
    case "opencl":
      return Effect.provide(
        report(device, ofOpenCl, options),
        Layer.provideMerge(
          BufferPool.layer(),
          OpenCl.layer({ platform: device.platform?.index, device: device.device?.index })
        )
      )
    case "webgpu":
      return Effect.provide(report(device, ofWebGpu, options), Layer.provideMerge(BufferPool.layer(), webGpu(device)))
    default:
      return Effect.provide(
        report(device, Effect.succeed([]), options),
        Layer.provideMerge(BufferPool.layer(), Devices.layer(DeviceSelector.of(device)))
      )
  }
}

/** The layer of a listed adapter of Node's WebGPU, by the request that it answers: fast, software or frugal. */
const webGpu = ({ device, type }: ListedDevice.ListedDevice) =>
  WebGpu.layer(
    device?.index === 0
      ? { powerPreference: "high-performance" }
      : type === "cpu"
      ? { forceFallbackAdapter: true }
      : { powerPreference: "low-power" }
  )
