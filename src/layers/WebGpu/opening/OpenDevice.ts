/**
 * Opening a WebGPU device, watching it, and closing it.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as DType from "../../../domain/data/DType.ts"
import { hasHalves } from "../../../domain/data/HalfSupport.ts"
import * as BackendTraits from "../../../domain/device/BackendTraits.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import { DriverObjects } from "../../../domain/device/DriverObjects.ts"
import { RecordedFailures, thrown, uncaptured } from "../commands/ErrorScopes.ts"
import type { WebGpuImage } from "../images/WebGpuImage.ts"
import type { WebGpuSampler } from "../images/WebGpuSampler.ts"
import { language } from "../language/WgslLanguage.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type { WebGpuBuffer } from "../WebGpuBuffer.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import type { Options } from "./OpenOptions.ts"

export interface OpenDevice {
  /** Both are `undefined` where other code has opened the device. */
  readonly gpu: WebGpuHandle.Gpu | undefined
  readonly adapter: WebGpuHandle.Adapter | undefined
  readonly device: WebGpuHandle.Device
  /** Whether other code has opened the device, and may use it beyond the layer. */
  readonly isShared: boolean
  readonly info: DeviceInfo
  readonly status: DeviceStatus
  readonly driverObjects: DriverObjects
  readonly failures: RecordedFailures
  /** Buffers that are not destroyed yet. */
  readonly buffers: Set<WebGpuBuffer>
  /** Buffers whose memory a program has taken: they and the device are never destroyed. */
  readonly taken: Set<WebGpuBuffer>
  /** The same for images. */
  readonly images: Set<WebGpuImage>
  /** The same for samplers. */
  readonly samplers: Set<WebGpuSampler>
}

/** Limits of which more is better, and an alignment of which less is, for buffers, images and kernels. A device gets the defaults unless it asks. */
const wantedLimits = [
  "maxBufferSize",
  "minStorageBufferOffsetAlignment",
  "maxStorageBufferBindingSize",
  "maxUniformBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
  "maxTextureDimension1D",
  "maxTextureDimension2D",
  "maxTextureDimension3D",
  "maxTextureArrayLayers",
  "maxSampledTexturesPerShaderStage",
  "maxSamplersPerShaderStage",
  "maxStorageTexturesPerShaderStage"
] as const

/**
 * shader-f16 is for f16, the next three are for image formats: to sample between floats, to write bgra8unorm, and for
 * 16-bit normalised channels. timestamp-query is for the times of kernels. The others are for programs that use the raw device: a
 * feature cannot be requested later.
 */
const wantedFeatures = [
  "shader-f16",
  "float32-filterable",
  "bgra8unorm-storage",
  "texture-formats-tier1",
  "subgroups",
  "timestamp-query"
] as const

export type WantedFeature = typeof wantedFeatures[number]

/** Why there is no device. */
export interface Refused {
  /** The name of the adapter that gave none; `undefined` where there was no adapter. */
  readonly adapter: string | undefined
  /** What was thrown, if anything. */
  readonly message: string | undefined
}

/**
 * Opens a device that is destroyed when the scope closes. Interruption waits for the driver's answer, so that no device
 * is left behind.
 */
export const open = Effect.fnUntraced(function*(
  gpu: WebGpuHandle.Gpu,
  options: Options
): Effect.fn.Return<OpenDevice, Refused, Scope.Scope> {
  const { forceFallbackAdapter, label, powerPreference } = options
  const adapter = yield* Effect.tryPromise({
    try: () =>
      gpu.requestAdapter({
        ...(powerPreference === undefined ? {} : { powerPreference }),
        ...(forceFallbackAdapter === undefined ? {} : { forceFallbackAdapter })
      }),
    catch: (cause): Refused => ({ adapter: undefined, message: thrown(cause).message })
  })
  if (adapter === null) return yield* Effect.fail({ adapter: undefined, message: undefined })
  const device = Effect.tryPromise({
    try: () =>
      adapter.requestDevice({
        ...(label === undefined ? {} : { label }),
        requiredFeatures: wantedFeatures.filter((feature) => adapter.features.has(feature)),
        requiredLimits: limitsOf(adapter.limits)
      }),
    catch: (cause): Refused => ({ adapter: nameOf(adapter.info), message: thrown(cause).message })
  })
  return yield* Effect.acquireRelease(
    Effect.map(device, (device) => watch(gpu, adapter, device)),
    (opened) => Effect.sync(() => close(opened))
  )
})

/** An older browser may lack some of the limits, and asking for an unknown one is an error. */
const limitsOf = (limits: WebGpuApi.Limits): Record<string, number> =>
  Object.fromEntries(
    wantedLimits.flatMap((name) => {
      const value: number | undefined = limits[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

const watch = (gpu: WebGpuHandle.Gpu, adapter: WebGpuHandle.Adapter, device: WebGpuHandle.Device): OpenDevice => {
  const opened = { ...unwatched(device, adapter.info), gpu, adapter, isShared: false }
  const { driverObjects, failures, status } = opened
  driverObjects.add("device")
  device.lost.then((lost) => status.lose(lossOf(lost)))
  device.onuncapturederror = (event) => {
    event.preventDefault()
    const { constructor: { name: codeName }, message } = event.error
    failures.add({ call: uncaptured, failures: [{ codeName, message }], commands: [] })
  }
  return opened
}

/** The library's state for a device; it sets nothing on the device itself. */
export const unwatched = (device: WebGpuHandle.Device, info: WebGpuHandle.AdapterInfo | undefined) => ({
  device,
  info: infoOf(info, device),
  status: new DeviceStatus("webgpu"),
  driverObjects: new DriverObjects(),
  failures: new RecordedFailures(),
  buffers: new Set<WebGpuBuffer>(),
  taken: new Set<WebGpuBuffer>(),
  images: new Set<WebGpuImage>(),
  samplers: new Set<WebGpuSampler>()
})

/** Why a device was lost, for errors. */
export const lossOf = ({ message, reason }: Awaited<WebGpuApi.Device["lost"]>): string =>
  message === "" ? reason : `${reason}: ${message}`

const close = (opened: OpenDevice): void => {
  destroyAll(opened)
  const { device, driverObjects } = opened
  device.onuncapturederror = null
  if (opened.taken.size > 0) return driverObjects.leave("device")
  device.destroy()
  driverObjects.remove("device")
}

/**
 * Destroys what the library has made on the device and what it has taken over, and leaves the rest alone. The status goes
 * first: late calls then get a typed error and never reach the driver.
 */
export const destroyAll = ({ buffers, driverObjects, images, samplers, status }: OpenDevice): void => {
  status.lose("its layer is closed")
  for (const buffer of buffers) {
    buffer.destroyed = true
    // A region goes with the whole buffer, which is here too, or is the program's.
    if (buffer.parent !== undefined || buffer.destroyGpu()) driverObjects.remove(buffer.kind)
    else driverObjects.leave(buffer.kind)
  }
  buffers.clear()
  for (const image of images) {
    image.destroyed = true
    image.gpu.destroy()
    driverObjects.remove("image")
  }
  images.clear()
  for (const sampler of samplers) {
    sampler.destroyed = true
    driverObjects.remove("sampler")
  }
  samplers.clear()
}

/** The name of a device. */
export const nameOf = (info: WebGpuHandle.AdapterInfo | undefined): string =>
  [info?.description, info?.device, info?.architecture].find((name) => name) ?? "unnamed adapter"

const traits = BackendTraits.make({
  language,
  compiling: "fast",
  floats: { flushes: true, reorders: true, assumesFinite: true },
  readsStaged: true,
  stagesBothWays: false,
  readsBesideWrites: false,
  optionalImages: ["1dArray", "1dBuffer"]
})

const infoOf = (
  info: WebGpuHandle.AdapterInfo | undefined,
  { features, limits }: WebGpuHandle.Device
): DeviceInfo => ({
  backend: "webgpu",
  traits,
  name: nameOf(info),
  vendor: info?.vendor ?? "",
  driver: info?.description ?? "",
  isCpu: info?.isFallbackAdapter === true,
  limits: {
    maxBufferSize: roundDown4(limits.maxBufferSize),
    maxBindingSize: roundDown4(limits.maxStorageBufferBindingSize),
    granularity: 4,
    regionAlignment: limits.minStorageBufferOffsetAlignment,
    copyAlignment: 4,
    leastCopyAlignment: 4,
    memoryBytes: undefined,
    defaultMaxBytes: undefined,
    maxWorkgroupSize: Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX),
    maxVectorArguments: limits.maxStorageBuffersPerShaderStage,
    images: {
      maxReadImages: limits.maxSampledTexturesPerShaderStage,
      maxWriteImages: limits.maxStorageTexturesPerShaderStage,
      maxSamplers: limits.maxSamplersPerShaderStage
    },
    groups: {
      maxWorkgroupExtents: [
        limits.maxComputeWorkgroupSizeX,
        limits.maxComputeWorkgroupSizeY,
        limits.maxComputeWorkgroupSizeZ
      ],
      maxWorkgroups: limits.maxComputeWorkgroupsPerDimension,
      maxLocalBytes: limits.maxComputeWorkgroupStorageSize
    }
  },
  dtypes: dtypesOf(features)
})

const dtypesOf = (features: WebGpuApi.Features): ReadonlySet<DType.DType> => {
  const common = ["f32", "i32", "u32", "i8", "u8", "i16", "u16", "i64", "u64", "c64", "bool"] as const
  return new Set(features.has("shader-f16") && hasHalves() ? [...common, "f16"] : common)
}

/** Buffers are made in multiples of 4 bytes, and some drivers say 2^32 - 1. */
const roundDown4 = (bytes: number): number => Math.floor(bytes / 4) * 4

/** `undefined` for a device that the library has opened: its adapter lacks the feature. */
export const featureHint = (
  { isShared }: Pick<OpenDevice, "isShared">,
  feature: WantedFeature | undefined
): string | undefined =>
  isShared && feature !== undefined
    ? `The device that the program gave was opened without the feature ${feature}: name it in requiredFeatures of ` +
      "requestDevice, where the adapter has it."
    : undefined
