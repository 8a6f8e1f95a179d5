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
import { capabilitiesOf, type SvmCapabilities } from "./svm/SvmCapabilities.ts"

const CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002
const CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100c
const CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101e
const CL_DEVICE_LOCAL_MEM_SIZE = 0x1023
const CL_DEVICE_QUEUE_ON_HOST_PROPERTIES = 0x102a
const CL_DEVICE_PROFILE = 0x102e
const CL_DEVICE_OPENCL_C_VERSION = 0x103d

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
          svm: svm(capabilitiesOf(cl.api, cl.device))
        })
      )
  })
)

const versions = ({ api, device, platform }: Service): DriverFacts => {
  const text = (what: number) => InfoQuery.text(api.clGetDeviceInfo, device.id, what)
  return {
    platformVersion: platform.version,
    deviceVersion: device.version,
    driverVersion: device.driverVersion,
    kernelLanguage: text(CL_DEVICE_OPENCL_C_VERSION),
    profile: text(CL_DEVICE_PROFILE),
    extensions: Array.from(device.extensions).sort()
  }
}

const hardware = ({ api, device }: Service): DriverFacts => {
  const uint = (what: number) => InfoQuery.uint(api.clGetDeviceInfo, device.id, what) ?? null
  const long = (what: number) => InfoQuery.long(api.clGetDeviceInfo, device.id, what) ?? null
  const queue = long(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES) ?? 0
  return {
    computeUnits: uint(CL_DEVICE_MAX_COMPUTE_UNITS),
    clockMegahertz: uint(CL_DEVICE_MAX_CLOCK_FREQUENCY),
    cacheBytes: long(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE),
    localMemoryBytes: long(CL_DEVICE_LOCAL_MEM_SIZE),
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

const svm = (found: SvmCapabilities) => ({
  coarseGrain: found.coarseGrain,
  fineGrain: found.fineGrain,
  fineGrainSystem: found.fineGrainSystem,
  atomics: found.atomics,
  missing: found.missing ?? null
})
