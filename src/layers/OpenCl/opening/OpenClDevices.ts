/**
 * The platforms and devices of this machine, as the OpenCL loader lists them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as DType from "../../../domain/data/DType.ts"
import * as BackendTraits from "../../../domain/device/BackendTraits.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import * as InfoQuery from "../InfoQuery.ts"
import { language } from "../language/OpenClC.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import type { OpenClDevice, OpenClPlatform } from "./OpenClPlatform.ts"

const CL_DEVICE_NOT_FOUND = -1
const CL_PLATFORM_NOT_FOUND_KHR = -1001
const CL_DEVICE_TYPE_ALL = 0xffffffff

const platformInfo = { version: 0x0901, name: 0x0902, vendor: 0x0903 }

const deviceInfo = {
  type: 0x1000,
  maxWorkgroupSize: 0x1004,
  maxWorkItemSizes: 0x1005,
  maxReadImages: 0x100e,
  maxWriteImages: 0x100f,
  maxAllocationBytes: 0x1010,
  imageSupport: 0x1016,
  maxParameterBytes: 0x1017,
  maxSamplers: 0x1018,
  memoryAlignmentBits: 0x1019,
  globalMemoryBytes: 0x101f,
  littleEndian: 0x1026,
  available: 0x1027,
  compilerAvailable: 0x1028,
  name: 0x102b,
  vendor: 0x102c,
  driverVersion: 0x102d,
  version: 0x102f,
  extensions: 0x1030
}

/**
 * Lists platforms and devices. The first call in a process loads every driver, which takes a tenth of a second or more,
 * so it runs on a thread of its own. Fails with DriverError.
 *
 * @internal
 */
export const list = (api: OpenClApi): Effect.Effect<ReadonlyArray<OpenClPlatform>, GpuError> =>
  Effect.flatMap(platformIds(api), (ids) => {
    const platforms: Array<OpenClPlatform> = []
    for (const [index, id] of ids.entries()) {
      const devices = deviceIds(api, id)
      if (typeof devices === "number") return driverError({ call: "clGetDeviceIDs", code: devices })
      platforms.push({
        index,
        name: InfoQuery.text(api.clGetPlatformInfo, id, platformInfo.name),
        vendor: InfoQuery.text(api.clGetPlatformInfo, id, platformInfo.vendor),
        version: InfoQuery.text(api.clGetPlatformInfo, id, platformInfo.version),
        devices: devices.map((device, index) => describeDevice(api, device, index)),
        id
      })
    }
    return Effect.succeed(platforms)
  })

/**
 * The OpenCL version of a device, as 1.2; 0 when its version text is not of the standard's form.
 *
 * @internal
 */
export const versionNumber = (device: OpenClDevice): number =>
  Number(/^OpenCL (\d+\.\d+)/.exec(device.version)?.[1] ?? 0)

/**
 * Whether it is PoCL, for facts that its queries do not report.
 *
 * @internal
 */
export const isPocl = ({ name }: OpenClPlatform): boolean => name === "Portable Computing Language"

/** The same for Oclgrind. @internal */
export const isOclgrind = ({ name }: OpenClPlatform): boolean => name === "Oclgrind"

/** The same for NVIDIA's driver. @internal */
export const isNvidia = ({ name }: OpenClPlatform): boolean => name === "NVIDIA CUDA"

/**
 * Whether a device has the functions of OpenCL 1.2, filling and migrating among them.
 *
 * @internal
 */
export const isVersion12 = (device: OpenClDevice): boolean => versionNumber(device) >= 1.2

// A vector costs an address and two 32-bit numbers; the rest is for scalars and the count.
const bytesPerVector = 16
const bytesForScalars = 256

const traits = BackendTraits.make({
  language,
  compiling: "slow",
  floats: { flushes: true, reorders: false, assumesFinite: false },
  usesHostMemory: true,
  optionalImages: ["3d"]
})

/**
 * A fresh description of a device that is being opened: its identity is the owner of buffers.
 *
 * @internal
 */
export const makeInfo = (platform: OpenClPlatform, device: OpenClDevice, copyAlignment: number): DeviceInfo => ({
  backend: "opencl",
  traits,
  name: device.name,
  vendor: device.vendor,
  driver: `${platform.name}, ${device.version}, driver ${device.driverVersion}`,
  limits: {
    maxBufferSize: device.maxAllocationBytes,
    // A kernel gets lengths as 32-bit numbers of elements. Vectors of 2-byte elements may be too long for that: each
    // dispatch checks it.
    maxBindingSize: Math.min(device.maxAllocationBytes, 0xffffffff * 4),
    granularity: 1,
    regionAlignment: device.memoryAlignment,
    copyAlignment,
    leastCopyAlignment: 1,
    memoryBytes: device.globalMemoryBytes,
    // A system that allocates more memory than it has ends the process that uses it, so a pool must stop before.
    defaultMaxBytes: device.globalMemoryBytes,
    maxWorkgroupSize: device.maxWorkgroupSize,
    maxVectorArguments: Math.max(1, Math.floor((device.maxParameterBytes - bytesForScalars) / bytesPerVector)),
    images: device.images
  },
  dtypes: new Set<DType.DType>([
    "f32",
    "i32",
    "u32",
    ...(device.extensions.includes("cl_khr_fp16") && DType.hostSupports("f16") ? ["f16" as const] : []),
    ...(device.extensions.includes("cl_khr_fp64") ? ["f64" as const] : [])
  ])
})

const platformIds = (api: OpenClApi): Effect.Effect<ReadonlyArray<bigint>, GpuError> => {
  const count = new Uint32Array(new ArrayBuffer(4))
  // Uninterruptible: the waiting fiber keeps the arrays alive that the thread writes to.
  const query = (capacity: number, ids: BigUint64Array<ArrayBuffer> | null) =>
    Effect.uninterruptible(Effect.callback<void, GpuError>((resume) => {
      api.clGetPlatformIDsAsync(capacity, ids, count, (_, code) => {
        const listed = code === OpenClCode.success || code === CL_PLATFORM_NOT_FOUND_KHR
        resume(listed ? Effect.void : driverError({ call: "clGetPlatformIDs", code }))
      })
    }))
  return Effect.flatMap(query(0, null), () => {
    const ids = new BigUint64Array(new ArrayBuffer(count[0]! * 8))
    return ids.length === 0 ? Effect.succeed([]) : Effect.map(query(ids.length, ids), () => [...ids])
  })
}

/**
 * A platform's devices, or the code of the failure. A platform without any answers CL_DEVICE_NOT_FOUND: Clover does.
 */
const deviceIds = (api: OpenClApi, platform: bigint): ReadonlyArray<bigint> | number => {
  const count = new Uint32Array(new ArrayBuffer(4))
  const counted = api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, null, count)
  if (counted === CL_DEVICE_NOT_FOUND || (counted === OpenClCode.success && count[0] === 0)) return []
  if (counted !== OpenClCode.success) return counted
  const ids = new BigUint64Array(new ArrayBuffer(count[0]! * 8))
  const listed = api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, ids.length, ids, null)
  return listed === OpenClCode.success ? [...ids] : listed
}

/** How many work items a group may have in its first dimension, the one that is used; 3 sizes at least are listed. */
const firstDimension = ({ clGetDeviceInfo }: OpenClApi, id: bigint): number =>
  Number(InfoQuery.words(clGetDeviceInfo, id, deviceInfo.maxWorkItemSizes)?.[0] ?? 1)

const deviceType = (flags: number): OpenClDevice["type"] =>
  (flags & 4) !== 0 ? "gpu" : (flags & 8) !== 0 ? "accelerator" : (flags & 2) !== 0 ? "cpu" : "other"

/** From bits to bytes. A device that does not report it gets 128 bytes, which suits its largest type. */
const alignmentOf = (bits: number): number => bits === 0 ? 128 : Math.max(4, bits / 8)

const is = ({ clGetDeviceInfo }: OpenClApi, id: bigint, what: number): boolean =>
  (InfoQuery.uint(clGetDeviceInfo, id, what) ?? 0) !== 0

const unusable = (api: OpenClApi, id: bigint): string | undefined => {
  if (!is(api, id, deviceInfo.available)) return "the driver says that it is not available"
  if (!is(api, id, deviceInfo.compilerAvailable)) return "it has no compiler for kernels"
  if (!is(api, id, deviceInfo.littleEndian)) return "it is big-endian, unlike this machine"
  return undefined
}

const describeDevice = (api: OpenClApi, id: bigint, index: number): OpenClDevice => {
  const string = (what: number) => InfoQuery.text(api.clGetDeviceInfo, id, what)
  const number = (what: number) => InfoQuery.long(api.clGetDeviceInfo, id, what) ?? 0
  return {
    index,
    name: string(deviceInfo.name),
    vendor: string(deviceInfo.vendor),
    type: deviceType(number(deviceInfo.type)),
    version: string(deviceInfo.version),
    driverVersion: string(deviceInfo.driverVersion),
    globalMemoryBytes: number(deviceInfo.globalMemoryBytes),
    maxAllocationBytes: number(deviceInfo.maxAllocationBytes),
    maxWorkgroupSize: Math.min(number(deviceInfo.maxWorkgroupSize), firstDimension(api, id)),
    maxParameterBytes: number(deviceInfo.maxParameterBytes),
    images: is(api, id, deviceInfo.imageSupport)
      ? {
        maxReadImages: number(deviceInfo.maxReadImages),
        maxWriteImages: number(deviceInfo.maxWriteImages),
        maxSamplers: number(deviceInfo.maxSamplers)
      }
      : undefined,
    memoryAlignment: alignmentOf(number(deviceInfo.memoryAlignmentBits)),
    extensions: string(deviceInfo.extensions).split(" ").filter((name) => name !== ""),
    unusable: unusable(api, id),
    id
  }
}
