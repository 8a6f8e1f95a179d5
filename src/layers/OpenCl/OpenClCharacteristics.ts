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

const CL_DEVICE_LOCAL_MEM_TYPE = 0x1022
const CL_DEVICE_LOCAL_MEM_SIZE = 0x1023
const CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000
const CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV = 0x4001
const CL_DEVICE_REGISTERS_PER_BLOCK_NV = 0x4002
const CL_DEVICE_WARP_SIZE_NV = 0x4003
const CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043
const CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11b3
const CL_GLOBAL = 2

type Service = OpenCl["Service"]

const uint = ({ api, device }: Service, what: number) => InfoQuery.uint(api.clGetDeviceInfo, device.id, what)

const localMemoryBytes = ({ api, device }: Service): number =>
  InfoQuery.long(api.clGetDeviceInfo, device.id, CL_DEVICE_LOCAL_MEM_SIZE) ?? 0

/** A vendor's query is asked only of its own devices: for others the same number may mean another query. */
const ofVendor = (cl: Service, extension: string, what: number): number | undefined =>
  cl.device.extensions.includes(extension) ? uint(cl, what) : undefined

const nvidia = "cl_nv_device_attribute_query"
const amd = "cl_amd_device_attribute_query"

const capabilityOf = (cl: Service): ComputeCapability | undefined => {
  const major = ofVendor(cl, nvidia, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV)
  const minor = ofVendor(cl, nvidia, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV)
  return major === undefined || minor === undefined ? undefined : { major, minor }
}

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
  return characterize({
    type: device.type,
    platformName: platform.name,
    platformVendor: platform.vendor,
    platformVersion: platform.version,
    deviceVendor: device.vendor,
    extensions: device.extensions,
    localMemoryBytes: localMemoryBytes(cl),
    isLocalMemoryGlobal: uint(cl, CL_DEVICE_LOCAL_MEM_TYPE) === CL_GLOBAL,
    warpSize: ofVendor(cl, nvidia, CL_DEVICE_WARP_SIZE_NV),
    wavefrontWidth: ofVendor(cl, amd, CL_DEVICE_WAVEFRONT_WIDTH_AMD),
    computeCapability: capabilityOf(cl),
    preferredMultiple: yield* preferredMultiple(cl)
  })
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
  const computeCapability = capabilityOf(cl)
  const registers = ofVendor(cl, nvidia, CL_DEVICE_REGISTERS_PER_BLOCK_NV)
  const warpSize = ofVendor(cl, nvidia, CL_DEVICE_WARP_SIZE_NV)
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
    sharedMemory: localMemoryBytes(cl)
  }))
})
