/**
 * Machines for tests of the choice of a device: fake backends, whose listed devices open as host devices.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Backends } from "../../src/devices/Backends.ts"
import { DeviceUnavailable, type GpuError, make } from "../../src/domain/GpuError.ts"
import * as DeviceSelector from "../../src/domain/selection/DeviceSelector.ts"
import type { DeviceType, ListedDevice } from "../../src/domain/selection/ListedDevice.ts"
import { Host } from "../../src/host.ts"
import { hostBackend } from "../../src/layers/Host/HostBackend.ts"
import { openClBackend } from "../../src/layers/OpenCl/OpenClBackend.ts"
import { webGpuBackend } from "../../src/layers/WebGpu/WebGpuBackend.ts"
import type { Backend } from "../../src/services/backend/Backend.ts"

export interface FakeDevice {
  readonly name: string
  readonly type?: DeviceType | undefined
  readonly unusable?: string | undefined
  /** Why it cannot be opened. */
  readonly broken?: string | undefined
}

/** Platforms by name, or why the backend cannot be loaded. */
export type FakeBackend = Readonly<Record<string, ReadonlyArray<FakeDevice>>> | string

/** Records the backends that were listed, the selectors of devices whose opening began, and of those that are open. */
export class Watch {
  readonly listed: Array<string> = []
  readonly tried: Array<string> = []
  readonly open = new Set<string>()
}

const failure = (backend: string, device: string, why: string): GpuError =>
  make(new DeviceUnavailable({ tried: [{ backend, device, why }], hint: "Install it." }))

const listed = (backend: string, platforms: Exclude<FakeBackend, string>): ReadonlyArray<ListedDevice> =>
  Object.entries(platforms).flatMap(([name, devices], index) => {
    const platform = { index, name, vendor: `${name} vendor` }
    return devices.map((device, index): ListedDevice => ({
      backend,
      platform,
      device: { index, name: device.name, vendor: "" },
      type: device.type ?? "gpu",
      driver: "fake",
      memoryBytes: 1024,
      unusable: device.unusable
    }))
  })

const backendOf = (name: string, fake: FakeBackend, watch: Watch): Backend => ({
  name,
  list: Effect.suspend(() => {
    watch.listed.push(name)
    return typeof fake === "string" ? failure(name, `npm ${name}`, fake) : Effect.succeed(listed(name, fake))
  }),
  rank: (device) => ranks[name]?.(device),
  open: (device) => {
    const selector = DeviceSelector.format(DeviceSelector.of(device))
    const broken = typeof fake === "string"
      ? fake
      : fake[device.platform?.name ?? ""]?.find(({ name }) => name === device.device?.name)?.broken
    const watched = Layer.effectDiscard(Effect.suspend(() => {
      watch.tried.push(selector)
      watch.open.add(selector)
      return Effect.addFinalizer(() => Effect.sync(() => watch.open.delete(selector)))
    }))
    const opened = broken === undefined ? Host.layer() : Layer.effectContext(failure(name, selector, broken))
    return opened.pipe(Layer.provideMerge(watched))
  }
})

const names = ["webgpu", "opencl", "host"] as const

/** As the backends of this package rank their devices. */
const ranks: Readonly<Record<string, Backend["rank"]>> = {
  webgpu: webGpuBackend.rank,
  opencl: openClBackend.rank,
  host: hostBackend.rank
}

/** Runs a program on a fake machine instead of this one. */
export const onMachine = (
  machine: Partial<Readonly<Record<typeof names[number], FakeBackend>>>,
  watch: Watch = new Watch()
) => {
  const backends = names.map((name) => backendOf(name, machine[name] ?? "it is not installed", watch))
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, Backends, backends)
}
