/** The backends that the job runs on. To a program each of them is just a layer. */
import { Effect, Layer } from "effect"
import { GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"

export interface Backend {
  readonly name: string
  readonly layer: Layer.Layer<Device.Services, GpuError.GpuError>
}

export const choices = ["host", "webgpu", "opencl", "oclgrind"] as const

export type Choice = typeof choices[number]

/** Oclgrind runs only when it is chosen. */
export const defaultChoices: ReadonlyArray<Choice> = ["host", "webgpu", "opencl"]

const isOclgrind = ({ name }: { readonly name: string }): boolean => name === "Oclgrind"

/** An OpenCL backend, named after its platform where there are several. */
const platform = (
  { index, name }: OpenCl.OpenClPlatform,
  _: number,
  all: ReadonlyArray<OpenCl.OpenClPlatform>
): Backend => ({
  name: all.length === 1 ? "opencl" : `opencl, ${name}`,
  layer: OpenCl.layer({ platform: index })
})

/** Every platform but Oclgrind. Where there is none, or listing fails, building the layer fails with the reason. */
const openCl: Effect.Effect<ReadonlyArray<Backend>> = OpenCl.devices.pipe(
  Effect.orElseSucceed((): ReadonlyArray<OpenCl.OpenClPlatform> => []),
  Effect.map((platforms) => {
    const usable = platforms.filter((platform) => !isOclgrind(platform))
    if (usable.length > 0) return usable.map(platform)
    return [{ name: "opencl", layer: platforms.length === 0 ? OpenCl.layer() : onlyOclgrind }]
  })
)

const onlyOclgrind: Backend["layer"] = Layer.effectContext(Effect.suspend(() =>
  GpuError.make(
    new GpuError.DeviceUnavailable({
      tried: [{ backend: "opencl", device: "Oclgrind", why: "it checks every access, so this job would take minutes" }],
      hint: "Install another driver, such as PoCL, or ask for it: --backend oclgrind --airports 100"
    })
  )
))

const backendsOf: { readonly [C in Choice]: Effect.Effect<ReadonlyArray<Backend>> } = {
  host: Effect.succeed([{ name: "host", layer: Host.layer() }]),
  webgpu: Effect.succeed([{ name: "webgpu", layer: WebGpu.layer() }]),
  opencl: openCl,
  oclgrind: Effect.succeed([{ name: "oclgrind", layer: OpenCl.layer({ platform: "Oclgrind" }) }])
}

/** The backends of some choices, in their order. */
export const find = (chosen: ReadonlyArray<Choice>): Effect.Effect<ReadonlyArray<Backend>> =>
  Effect.map(Effect.forEach([...new Set(chosen)], (choice) => backendsOf[choice]), (backends) => backends.flat())
