/**
 * An OpenCL driver's facts about an open device, for display.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Characteristics } from "../../domain/characterisation/OpenClFacts.ts"
import type { DriverFacts } from "../../domain/device/DriverFacts.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type { KernelCache } from "../../services/device/KernelCache.ts"
import * as InfoQuery from "./InfoQuery.ts"
import { OpenCl } from "./OpenCl.ts"
import { characteristics } from "./OpenClCharacteristics.ts"
import { capabilitiesOf } from "./svm/SvmCapabilities.ts"

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

type Service = OpenCl["Service"]

/** No facts for a device of another backend, which does not provide this service. */
export const driverFacts: Effect.Effect<DriverFacts, GpuError, KernelCache> = Effect.flatMap(
  Effect.serviceOption(OpenCl),
  Option.match({
    onNone: () => Effect.succeed({}),
    onSome: (cl) =>
      Effect.map(
        Effect.provideService(characteristics, OpenCl, cl),
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
