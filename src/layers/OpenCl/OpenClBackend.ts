/**
 * OpenCL's platforms and devices in the list of devices.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Characteristics } from "../../domain/characterisation/OpenClFacts.ts"
import type { DriverFacts } from "../../domain/device/DriverFacts.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { absentDevice } from "../../domain/selection/AbsentDevice.ts"
import type { ListedDevice } from "../../domain/selection/ListedDevice.ts"
import type { Backend } from "../../services/backend/Backend.ts"
import { sameDevice } from "../../services/backend/SameDevice.ts"
import type { KernelCache } from "../../services/device/KernelCache.ts"
import * as InfoQuery from "./InfoQuery.ts"
import * as OpenCl from "./OpenCl.ts"
import { characteristics } from "./OpenClCharacteristics.ts"
import { capabilitiesOf } from "./svm/SvmCapabilities.ts"

const noDriver = absentDevice(
  "opencl",
  undefined,
  "the OpenCL loader finds no platform: no driver is installed"
)

const listedOf = ({ devices, index, name, vendor }: OpenCl.OpenClPlatform): ReadonlyArray<ListedDevice> => {
  const platform = { index, name, vendor }
  if (devices.length === 0) return [absentDevice("opencl", platform, "the platform has no device")]
  return devices.map((device) => ({
    backend: "opencl",
    platform,
    device: { index: device.index, name: device.name, vendor: device.vendor },
    type: device.type,
    driver: `${device.version}, driver ${device.driverVersion}`,
    memoryBytes: device.globalMemoryBytes,
    unusable: device.unusable
  }))
}

const versionProperties = {
  kernelLanguage: [0x103d, InfoQuery.text],
  profile: [0x102e, InfoQuery.text]
} as const satisfies InfoQuery.Properties

/** Facts are JSON, which has no `undefined`. */
const orNull = <A>(read: InfoQuery.Read<A | undefined>): InfoQuery.Read<A | null> => (...args) => read(...args) ?? null

const hardwareProperties = {
  computeUnits: [0x1002, orNull(InfoQuery.uint)],
  clockMegahertz: [0x100c, orNull(InfoQuery.uint)],
  cacheBytes: [0x101e, orNull(InfoQuery.long)],
  localMemoryBytes: [0x1023, orNull(InfoQuery.long)]
} as const satisfies InfoQuery.Properties

const CL_DEVICE_QUEUE_ON_HOST_PROPERTIES = 0x102a
const outOfOrder = 1
const profiling = 2

type Service = OpenCl.OpenCl["Service"]

/** No facts for a device of another backend, which does not provide this service. */
const driverFacts: Effect.Effect<DriverFacts, GpuError, KernelCache> = Effect.flatMap(
  Effect.serviceOption(OpenCl.OpenCl),
  Option.match({
    onNone: () => Effect.succeed({}),
    onSome: (cl) =>
      Effect.map(
        Effect.provideService(characteristics, OpenCl.OpenCl, cl),
        (found) => ({
          ...versions(cl),
          ...hardware(cl),
          ...kernels(found),
          svm: svm(cl)
        })
      )
  })
)

const versions = ({ api, device, platform }: Service): DriverFacts => ({
  platformVersion: platform.version,
  deviceVersion: device.version,
  driverVersion: device.driverVersion,
  ...InfoQuery.all(versionProperties, api.clGetDeviceInfo, device.id),
  extensions: Array.from(device.extensions).sort()
})

const hardware = ({ api: { clGetDeviceInfo }, device }: Service): DriverFacts => {
  const queue = InfoQuery.long(clGetDeviceInfo, device.id, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES) ?? 0
  return {
    ...InfoQuery.all(hardwareProperties, clGetDeviceInfo, device.id),
    parameterBytes: device.maxParameterBytes,
    memoryAlignmentBytes: device.memoryAlignment,
    queues: { outOfOrder: (queue & outOfOrder) !== 0, profiling: (queue & profiling) !== 0 }
  }
}

const kernels = (found: Characteristics): DriverFacts => ({
  simdGroupSize: found.simdGroupSize ?? null,
  workgroupSizeMultiple: found.workgroupSizeMultiple ?? null,
  usableLocalMemoryBytes: found.usableLocalMemoryBytes,
  doubles: found.hasDoubleSupport,
  computeCapability: found.computeCapability === undefined
    ? null
    : `${found.computeCapability.major}.${found.computeCapability.minor}`,
  guessed: found.guessed
})

const svm = ({ api, device }: Service): DriverFacts => {
  const { maxAlignment: _, missing, ...kinds } = capabilitiesOf(api, device)
  return { ...kinds, missing: missing ?? null }
}

export const openClBackend: Backend = {
  name: "opencl",
  list: Effect.map(
    Effect.suspend(() => OpenCl.devices),
    (platforms) => platforms.length === 0 ? [noDriver] : platforms.flatMap(listedOf)
  ),
  rank: ({ type }) => type === "gpu" ? 1 : 2,
  open: (listed, options) =>
    sameDevice(listed, OpenCl.layer({ platform: listed.platform?.index, device: listed.device?.index, ...options })),
  facts: driverFacts
}
