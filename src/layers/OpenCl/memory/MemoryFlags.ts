/**
 * The cl_mem_flags of buffers.
 *
 * @internal
 */
import * as BufferUsage from "../../../domain/BufferUsage.ts"
import type { HostMode } from "../../../services/device/DeviceContext.ts"

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
