/**
 * What an open OpenCL device is like, for kernels that are tuned to it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ComputeCapability } from "../../domain/characterisation/ComputeCapability.ts"
import * as DeviceData from "../../domain/characterisation/DeviceData.ts"
import { type Characteristics, characterize } from "../../domain/characterisation/OpenClFacts.ts"
import { type GpuError, unsupported } from "../../domain/GpuError.ts"
import * as Kernel from "../../domain/kernel/Kernel.ts"
import * as KernelArgument from "../../domain/kernel/KernelArgument.ts"
import { KernelCache } from "../../services/device/KernelCache.ts"
import * as InfoQuery from "./InfoQuery.ts"
import { OpenClKernel } from "./kernels/OpenClKernel.ts"
import { OpenCl } from "./OpenCl.ts"

const CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11b3
const CL_GLOBAL = 2

const { uint } = InfoQuery

const localMemory = {
  type: [0x1022, uint],
  bytes: [0x1023, InfoQuery.long]
} as const satisfies InfoQuery.Properties

const ofNvidia = {
  major: [0x4000, uint],
  minor: [0x4001, uint],
  registers: [0x4002, uint],
  warpSize: [0x4003, uint]
} as const satisfies InfoQuery.Properties

const ofAmd = {
  wavefrontWidth: [0x4043, uint],
  /** KiB: all that is free, and on some devices the largest free block. */
  freeMemory: [0x4039, InfoQuery.words]
} as const satisfies InfoQuery.Properties

type Service = OpenCl["Service"]

const facts = <P extends InfoQuery.Properties>({ api, device }: Service, properties: P): InfoQuery.Facts<P> =>
  InfoQuery.all(properties, api.clGetDeviceInfo, device.id)

/** A vendor's queries are made only of its own devices: for others the same number may mean another query. */
const nvidiaFacts = (cl: Service): Partial<InfoQuery.Facts<typeof ofNvidia>> =>
  cl.device.extensions.includes("cl_nv_device_attribute_query") ? facts(cl, ofNvidia) : {}

const amdFacts = (cl: Service): Partial<InfoQuery.Facts<typeof ofAmd>> =>
  cl.device.extensions.includes("cl_amd_device_attribute_query") ? facts(cl, ofAmd) : {}

const capabilityOf = (
  { major, minor }: Partial<InfoQuery.Facts<typeof ofNvidia>>
): ComputeCapability | undefined => major === undefined || minor === undefined ? undefined : { major, minor }

const trivial = Kernel.make({
  name: "characterize",
  args: [KernelArgument.VectorArg("f32", "out", { access: "write" })],
  body: { opencl: "out[i] = 1.0f;" }
})

const preferredMultiple = Effect.fnUntraced(function*(
  { api, device }: Service
): Effect.fn.Return<number | undefined, GpuError, KernelCache> {
  const kernel = yield* KernelCache.use((cache) => cache.get(trivial))
  if (!(kernel instanceof OpenClKernel) || kernel.released) return undefined
  return InfoQuery.long(
    (...args) => api.clGetKernelWorkGroupInfo(kernel.handle, ...args),
    device.id,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE
  )
})

/**
 * Asks the open device, and compiles a kernel that does next to nothing for what only a kernel can tell. `guessed`
 * names the facts that are rules of thumb. Fails with DeviceLost, or DriverError when the kernel does not compile.
 *
 * **Example** (Workgroups that fill the device's lanes)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { OpenClCharacteristics } from "effect-gpu-pool/opencl"
 *
 * const workgroupSize = Effect.map(
 *   OpenClCharacteristics.characteristics,
 *   ({ workgroupSizeMultiple }) => 4 * (workgroupSizeMultiple ?? 16)
 * )
 * ```
 *
 * @see pyopencl.characterize
 * @category getters
 * @since 0.1.0
 */
export const characteristics: Effect.Effect<Characteristics, GpuError, OpenCl | KernelCache> = Effect.gen(function*() {
  const cl = yield* OpenCl
  const { device, platform } = cl
  const { bytes, type } = facts(cl, localMemory)
  const nvidia = nvidiaFacts(cl)
  return characterize({
    type: device.type,
    platformName: platform.name,
    platformVendor: platform.vendor,
    platformVersion: platform.version,
    deviceVendor: device.vendor,
    extensions: device.extensions,
    localMemoryBytes: bytes ?? 0,
    isLocalMemoryGlobal: type === CL_GLOBAL,
    warpSize: nvidia.warpSize,
    wavefrontWidth: amdFacts(cl).wavefrontWidth,
    computeCapability: capabilityOf(nvidia),
    preferredMultiple: yield* preferredMultiple(cl)
  })
})

/**
 * The bytes of the device's memory that are free now: other programs may use the rest. Only AMD's drivers report them, by the
 * extension `cl_amd_device_attribute_query`: neither OpenCL nor WebGPU has such a query. For other devices it fails with Unsupported.
 *
 * **Example** (At most half of what is free, or 1 GiB)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { OpenCl, OpenClCharacteristics } from "effect-gpu-pool/opencl"
 *
 * const limit = OpenClCharacteristics.freeMemoryBytes.pipe(
 *   Effect.map((bytes) => Math.floor(bytes / 2)),
 *   Effect.catchReason("GpuError", "Unsupported", () => Effect.succeed(2 ** 30))
 * )
 * const Gpu = Layer.unwrap(Effect.map(limit, (maxBytes) => BufferPool.layer({ maxBytes }))).pipe(
 *   Layer.provideMerge(OpenCl.layer())
 * )
 * ```
 *
 * @see pycuda.driver.mem_get_info
 * @category getters
 * @since 0.1.0
 */
export const freeMemoryBytes: Effect.Effect<number, GpuError, OpenCl> = OpenCl.use((cl) => {
  const [kib] = amdFacts(cl).freeMemory ?? []
  return kib === undefined
    ? unsupported(
      "OpenClCharacteristics.freeMemoryBytes",
      "opencl",
      `how much memory of ${cl.device.name} is free`,
      "Its driver does not report it. DeviceLimits.memoryBytes is all of its memory, and BufferPool.stats what a pool has of it."
    )
    : Effect.succeed(1024 * Number(kib))
})

/**
 * What PyCUDA's `DeviceData` says of the open device, for occupancy by its formula. Unsupported for devices that are not
 * NVIDIA's.
 *
 * **Example** (Occupancy by PyCUDA's formula)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Occupancy } from "effect-gpu-pool/devices"
 * import { OpenClCharacteristics } from "effect-gpu-pool/opencl"
 *
 * const occupancy = Effect.flatMap(
 *   OpenClCharacteristics.deviceData,
 *   (device) => Effect.fromResult(Occupancy.pycuda(device, { threads: 256, registers: 32 }))
 * )
 * ```
 *
 * @see pycuda.tools.DeviceData
 * @category getters
 * @since 0.1.0
 */
export const deviceData: Effect.Effect<DeviceData.DeviceData, GpuError, OpenCl> = OpenCl.use((cl) => {
  const nvidia = nvidiaFacts(cl)
  const computeCapability = capabilityOf(nvidia)
  const { registers, warpSize } = nvidia
  if (computeCapability === undefined || registers === undefined || warpSize === undefined) {
    return unsupported(
      "OpenClCharacteristics.deviceData",
      "opencl",
      `occupancy on ${cl.device.name}`,
      "It is defined for NVIDIA's devices; for plain figures call DeviceData.make with attributes of your own."
    )
  }
  return Effect.succeed(DeviceData.make({
    computeCapability,
    registers,
    warpSize,
    maxThreads: cl.device.maxWorkgroupSize,
    sharedMemory: facts(cl, localMemory).bytes ?? 0
  }))
})
