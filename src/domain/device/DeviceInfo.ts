/**
 * The description of an open device, the same for every backend.
 *
 * @since 0.1.0
 */
import { line } from "../arguments/Format.ts"
import type { DType } from "../data/DType.ts"
import type { Extents } from "../kernel/Workgroup.ts"
import type { BackendTraits } from "./BackendTraits.ts"

/**
 * How many images and samplers one kernel can take.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageLimits {
  readonly maxReadImages: number
  readonly maxWriteImages: number
  readonly maxSamplers: number
}

/**
 * What a device has for kernels that are written for workgroups: `GroupKernel` and `SourceKernel`.
 *
 * @category models
 * @since 0.1.0
 */
export interface GroupLimits {
  /** The most items of a workgroup in each dimension. Together they are at most `maxWorkgroupSize`. */
  readonly maxWorkgroupExtents: Extents
  /**
   * The most workgroups of one dispatch, in each dimension. A `GroupKernel` over a range of one dimension may have more:
   * drivers lay these out in several.
   */
  readonly maxWorkgroups: number
  /** Bytes of local memory that one workgroup can have. */
  readonly maxLocalBytes: number
}

/**
 * The limits that the library checks before it calls a driver. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceLimits {
  /** The largest single buffer. */
  readonly maxBufferSize: number
  /** The largest range of a buffer that a kernel argument can see. */
  readonly maxBindingSize: number
  /** Block sizes are rounded up to a multiple of this (WebGPU 4, host and OpenCL 1). */
  readonly granularity: number
  /** A sub-region begins at a multiple of this, itself a multiple of 4 (WebGPU mostly 256, host 4). */
  readonly regionAlignment: number
  /**
   * Offsets, lengths and pitches of reads, writes, copies and fills of buffers are multiples of this, except that an
   * access may end at a buffer's size. It is 4, which every device supports, or 1 where the device was opened with
   * `byteGranular`.
   */
  readonly copyAlignment: number
  /** The least `copyAlignment` that the device can be opened with: 1 on OpenCL and the host, 4 on WebGPU. */
  readonly leastCopyAlignment: number
  /** Memory of the device, where the backend reports it. */
  readonly memoryBytes: number | undefined
  /** The byte limit of a pool that names none, or `undefined` for no limit. */
  readonly defaultMaxBytes: number | undefined
  /** The largest workgroup a kernel may ask for. */
  readonly maxWorkgroupSize: number
  /** How many buffers one kernel can take. */
  readonly maxVectorArguments: number
  /** How many images and samplers one kernel can take; `undefined` where kernels can take none. */
  readonly images?: ImageLimits | undefined
  /** What kernels that are written for workgroups can have; `undefined` where the backend cannot run such kernels. */
  readonly groups?: GroupLimits | undefined
}

/**
 * An open device.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeviceInfo {
  /** The backend's name: `webgpu`, `opencl`, `host`, or that of one from elsewhere. */
  readonly backend: string
  readonly traits: BackendTraits
  /** The driver's name for it. */
  readonly name: string
  /** The vendor, as the driver reports it; may be empty. */
  readonly vendor: string
  /** The driver or platform and its version. */
  readonly driver: string
  readonly limits: DeviceLimits
  /**
   * Whether its kernels run on the cores of a CPU, as far as the backend knows: few long items then suit it, and many
   * workgroups do not. It only affects speed, and the order in which floats are added.
   */
  readonly isCpu?: boolean | undefined
  /** Element types that kernels can use. */
  readonly dtypes: ReadonlySet<DType>
  /**
   * Advice for errors about missing element types: a sentence for each type of which the backend knows what it needs, as an
   * option of the device that was left out, or an extension.
   */
  readonly missingDTypes?: ReadonlyMap<DType, string> | undefined
}

/**
 * The device as messages name it.
 *
 * @category functions
 * @since 0.1.0
 */
export const format = ({ backend, name }: DeviceInfo): string => `${line(backend)} ${line(name)}`
