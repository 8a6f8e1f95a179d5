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
import * as OpenClSource from "../kernels/OpenClSource.ts"
import { language } from "../language/OpenClC.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { driverError } from "../OpenClError.ts"
import type { OpenClDevice, OpenClPlatform } from "./OpenClPlatform.ts"

const CL_DEVICE_NOT_FOUND = -1
const CL_PLATFORM_NOT_FOUND_KHR = -1001
const CL_DEVICE_TYPE_ALL = 0xffffffff

const platformProperties = {
  version: [0x0901, InfoQuery.text],
  name: [0x0902, InfoQuery.text],
  vendor: [0x0903, InfoQuery.text]
} as const satisfies InfoQuery.Properties

/** 0 where the driver does not answer. */
const number: InfoQuery.Read<number> = (...args) => InfoQuery.long(...args) ?? 0

const bool: InfoQuery.Read<boolean> = (...args) => (InfoQuery.uint(...args) ?? 0) !== 0

/** What the list of devices says as the driver says it. */
const plainProperties = {
  maxAllocationBytes: [0x1010, number],
  maxParameterBytes: [0x1017, number],
  globalMemoryBytes: [0x101f, number],
  localMemoryBytes: [0x1023, number],
  name: [0x102b, InfoQuery.text],
  vendor: [0x102c, InfoQuery.text],
  driverVersion: [0x102d, InfoQuery.text],
  version: [0x102f, InfoQuery.text]
} as const satisfies InfoQuery.Properties

const deviceProperties = {
  type: [0x1000, number],
  maxWorkgroupSize: [0x1004, number],
  maxWorkItemSizes: [0x1005, InfoQuery.words],
  maxReadImages: [0x100e, number],
  maxWriteImages: [0x100f, number],
  imageSupport: [0x1016, bool],
  maxSamplers: [0x1018, number],
  memoryAlignmentBits: [0x1019, number],
  isLittleEndian: [0x1026, bool],
  isAvailable: [0x1027, bool],
  hasCompiler: [0x1028, bool],
  profile: [0x102e, InfoQuery.text],
  extensions: [0x1030, InfoQuery.text]
} as const satisfies InfoQuery.Properties

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
        ...InfoQuery.all(platformProperties, api.clGetPlatformInfo, id),
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
export const versionNumber = (device: Pick<OpenClDevice, "version">): number =>
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
export const isVersion12 = (device: Pick<OpenClDevice, "version">): boolean => versionNumber(device) >= 1.2

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
  isCpu: device.type === "cpu",
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
    images: device.images,
    groups: {
      maxWorkgroupExtents: device.maxWorkItemSizes,
      // Only the 32 bits of an index limit them.
      maxWorkgroups: 0xffffffff,
      maxLocalBytes: device.localMemoryBytes
    }
  },
  ...elementTypes(device)
})

/** Without advice where the runtime itself has no halves: no other device helps then. */
const elementTypes = ({ extensions, isEmbedded }: OpenClDevice): Pick<DeviceInfo, "dtypes" | "missingDTypes"> => {
  const needs = new Map([...OpenClSource.extensions, ...(isEmbedded ? longs : [])])
  const dtypes = new Set<DType.DType>()
  const missingDTypes = new Map<DType.DType, string>()
  for (const dtype of DType.all) {
    const extension = needs.get(dtype)
    if (!DType.hostSupports(dtype)) continue
    if (extension === undefined || extensions.includes(extension)) dtypes.add(dtype)
    else {
      const other = extension === longsExtension ? "i32 or u32" : "f32"
      missingDTypes.set(dtype, `It needs ${extension}, which the device lacks: use ${other}, or a device that has it.`)
    }
  }
  return { dtypes, missingDTypes }
}

const longsExtension = "cles_khr_int64"

/** By which the embedded profile has 64-bit integers; the full one always has them. */
const longs: typeof OpenClSource.extensions = [["i64", longsExtension], ["u64", longsExtension]]

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

const deviceType = (flags: number): OpenClDevice["type"] =>
  (flags & 4) !== 0 ? "gpu" : (flags & 8) !== 0 ? "accelerator" : (flags & 2) !== 0 ? "cpu" : "other"

/** From bits to bytes. A device that does not report it gets 128 bytes, which suits its largest type. */
const alignmentOf = (bits: number): number => bits === 0 ? 128 : Math.max(4, bits / 8)

type Facts = InfoQuery.Facts<typeof deviceProperties>

const unusable = ({ hasCompiler, isAvailable, isLittleEndian }: Facts): string | undefined => {
  if (!isAvailable) return "the driver says that it is not available"
  if (!hasCompiler) return "it has no compiler for kernels"
  return isLittleEndian ? undefined : "it is big-endian, unlike this machine"
}

const outdatedLoader = "the OpenCL loader lacks functions of OpenCL 1.2, which the device has: install a newer loader"

/** A device that does not report them has workgroups of single items. */
const itemsOf = ({ maxWorkItemSizes }: Facts, dimension: number): number => Number(maxWorkItemSizes?.[dimension] ?? 1)

const describeDevice = (api: OpenClApi, id: bigint, index: number): OpenClDevice => {
  const facts = InfoQuery.all(deviceProperties, api.clGetDeviceInfo, id)
  const { maxReadImages, maxSamplers, maxWriteImages } = facts
  const plain = InfoQuery.all(plainProperties, api.clGetDeviceInfo, id)
  return {
    index,
    ...plain,
    type: deviceType(facts.type),
    // Kernels of single items use only the first dimension.
    maxWorkgroupSize: Math.min(facts.maxWorkgroupSize, Number(facts.maxWorkItemSizes?.[0] ?? 1)),
    maxWorkItemSizes: [itemsOf(facts, 0), itemsOf(facts, 1), itemsOf(facts, 2)],
    images: facts.imageSupport ? { maxReadImages, maxWriteImages, maxSamplers } : undefined,
    memoryAlignment: alignmentOf(facts.memoryAlignmentBits),
    isEmbedded: facts.profile === "EMBEDDED_PROFILE",
    extensions: facts.extensions.split(" ").filter((name) => name !== ""),
    unusable: unusable(facts) ?? (isVersion12(plain) && api.loaderVersion < 1.2 ? outdatedLoader : undefined),
    id
  }
}
