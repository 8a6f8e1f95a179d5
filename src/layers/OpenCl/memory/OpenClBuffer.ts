/**
 * A device buffer around a cl_mem.
 *
 * @internal
 */
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../../domain/device/DeviceInfo.ts"
import { DeviceBuffer, type Part } from "../../../services/device/DeviceBuffer.ts"
import type { HostMode } from "../../../services/device/DeviceContext.ts"
import type { SvmAllocation } from "../svm/SvmAllocation.ts"

export const CL_MEM_READ_WRITE = 1
export const CL_MEM_WRITE_ONLY = 2
export const CL_MEM_READ_ONLY = 4
const CL_MEM_HOST_WRITE_ONLY = 128
const CL_MEM_HOST_READ_ONLY = 256
const CL_MEM_HOST_NO_ACCESS = 512
export const CL_MEM_USE_HOST_PTR = 8

export const CL_MEM_COPY_HOST_PTR = 32

/** Memory that the host can reach. */
export const CL_MEM_ALLOC_HOST_PTR = 16

/** The device buffer of this backend. */
export class OpenClBuffer extends DeviceBuffer {
  /** The cl_mem. */
  readonly memory: bigint
  /**
   * Another buffer around the same cl_mem, for one that was adopted. The handle does not identify the object: a driver
   * may use the handle of released memory again.
   */
  readonly #twin: OpenClBuffer | undefined

  constructor(
    memory: bigint,
    owner: DeviceInfo,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined,
    part?: Part | undefined,
    twin?: OpenClBuffer | undefined
  ) {
    super(owner, size, usage, label, part)
    this.memory = memory
    this.#twin = twin
  }

  override get identity(): object {
    return this.#twin === undefined ? this : this.#twin.identity
  }

  /** @internal */
  override get allocation(): object {
    return this.beneath ?? super.allocation
  }

  /** The memory under its cl_mem, where the driver does not free it with the cl_mem. */
  get beneath(): SvmAllocation | undefined {
    return this.#twin?.beneath ?? (this.parent instanceof OpenClBuffer ? this.parent.beneath : undefined)
  }
}

/**
 * The cl_mem_flags for a usage. OpenCL ignores WebGPU's purposes, and uses the access and host flags. `hostMemoryFlag`
 * is the flag of all memory of the device.
 */
export const memoryFlags = (usage: BufferUsage.BufferUsage, hostMemoryFlag: number): number =>
  kernelAccessFlag(usage) | hostAccessFlag(usage) |
  (BufferUsage.has(usage, BufferUsage.hostMemory) ? CL_MEM_ALLOC_HOST_PTR : hostMemoryFlag)

/** The flag for what kernels may do. */
export const kernelAccessFlag = (usage: BufferUsage.BufferUsage): number =>
  BufferUsage.has(usage, BufferUsage.kernelReadOnly)
    ? CL_MEM_READ_ONLY
    : BufferUsage.has(usage, BufferUsage.kernelWriteOnly)
    ? CL_MEM_WRITE_ONLY
    : CL_MEM_READ_WRITE

/** The flag for what the program may do; 0 where it may do all. */
const hostAccessFlag = (usage: BufferUsage.BufferUsage): number =>
  hostFlagsByUsage.find(([flag]) => BufferUsage.has(usage, flag))?.[1] ?? 0

const hostFlagsByUsage: ReadonlyArray<readonly [usage: BufferUsage.BufferUsage, flag: number]> = [
  [BufferUsage.hostReadOnly, CL_MEM_HOST_READ_ONLY],
  [BufferUsage.hostWriteOnly, CL_MEM_HOST_WRITE_ONLY],
  [BufferUsage.hostNoAccess, CL_MEM_HOST_NO_ACCESS]
]

/** The flags of a sub-buffer with less usage than its buffer: it inherits the flags that are left out. */
export const regionFlags = (usage: BufferUsage.BufferUsage, whole: BufferUsage.BufferUsage): number =>
  changed(kernelAccessFlag(usage), kernelAccessFlag(whole)) | changed(hostAccessFlag(usage), hostAccessFlag(whole))

const changed = (flag: number, inherited: number): number => flag === inherited ? 0 : flag

/** The cl_mem_flags of a buffer over memory that is the program's, which is not allocated. */
export const usedFlags = (usage: BufferUsage.BufferUsage): number =>
  kernelAccessFlag(usage) | hostAccessFlag(usage) | CL_MEM_USE_HOST_PTR

/** The cl_mem_flags of a buffer made from the program's data. */
export const hostFlags = (usage: BufferUsage.BufferUsage, mode: HostMode, hostMemoryFlag: number): number =>
  mode === "use" ? usedFlags(usage) : memoryFlags(usage, hostMemoryFlag) | CL_MEM_COPY_HOST_PTR

/** The usage that an existing cl_mem allows. */
export const usageOf = (flags: number): BufferUsage.BufferUsage =>
  BufferUsage.defaultUsage |
  ((flags & CL_MEM_READ_ONLY) === 0 ? 0 : BufferUsage.kernelReadOnly) |
  ((flags & CL_MEM_WRITE_ONLY) === 0 ? 0 : BufferUsage.kernelWriteOnly) |
  ((flags & CL_MEM_ALLOC_HOST_PTR) === 0 ? 0 : BufferUsage.hostMemory) |
  (hostFlagsByUsage.find(([, flag]) => (flags & flag) !== 0)?.[0] ?? 0)

/** The cl_mem of a buffer that CommandQueue has checked: it belongs to this backend's device. */
export const memoryOf = (buffer: DeviceBuffer): bigint => (buffer as OpenClBuffer).memory
