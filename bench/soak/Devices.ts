/** The devices of a soak: the host's frees late, and those that can be lost are lost at times. */
import { Effect, Layer } from "effect"
import type { GpuError } from "effect-gpu-pool"
import type { Device } from "effect-gpu-pool/backend"
import { Host } from "effect-gpu-pool/host"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import type * as Backend from "../Backend.ts"

type Services = Device.Services

export interface SoakDevice {
  readonly layer: Layer.Layer<Services, GpuError.GpuError>
  /** Loses every device of that layer that is open. */
  readonly lose: () => void
}

const host = (): SoakDevice => {
  const faults = Host.makeFaults()
  return {
    layer: Host.layer({ faults, capacityBytes: 256 * 2 ** 20, lateFree: true }),
    lose: () => faults.lose()
  }
}

const webGpu = (): SoakDevice => {
  const open = new Set<GPUDevice>()
  const watched = Layer.effectDiscard(Effect.flatMap(WebGpu.WebGpu, ({ device }) =>
    Effect.acquireRelease(
      Effect.sync(() => open.add(device)),
      () => Effect.sync(() => open.delete(device))
    )))
  return {
    layer: Layer.provideMerge(watched, WebGpu.layer()),
    lose: () => {
      for (const device of open) device.destroy()
    }
  }
}

/** OpenCL has no way to lose a device. */
const openCl = (): SoakDevice => ({ layer: OpenCl.layer(), lose: () => undefined })

export const open: { readonly [N in Backend.Name]: () => SoakDevice } = { host, webgpu: webGpu, opencl: openCl }
