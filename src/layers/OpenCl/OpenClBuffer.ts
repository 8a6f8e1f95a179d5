/**
 * A device buffer around a cl_mem.
 *
 * @internal
 */
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/DeviceInfo.ts"
import { DeviceBuffer } from "../../services/DeviceBuffer.ts"

const CL_MEM_READ_WRITE = 1
const CL_MEM_WRITE_ONLY = 2
const CL_MEM_READ_ONLY = 4
const CL_MEM_ALLOC_HOST_PTR = 16

/**
 * The device buffer of this backend.
 *
 * @internal
 */
export class OpenClBuffer extends DeviceBuffer {
  /** The cl_mem. */
  readonly memory: bigint

  constructor(
    memory: bigint,
    owner: DeviceInfo,
    size: number,
    usage: BufferUsage.BufferUsage,
    label: string | undefined
  ) {
    super(owner, size, usage, label)
    this.memory = memory
  }
}

/**
 * The cl_mem_flags for a usage. WebGPU's purposes mean nothing to OpenCL; the access and host flags do.
 *
 * @internal
 */
export const memoryFlags = (usage: BufferUsage.BufferUsage): number =>
  (BufferUsage.has(usage, BufferUsage.kernelReadOnly)
    ? CL_MEM_READ_ONLY
    : BufferUsage.has(usage, BufferUsage.kernelWriteOnly)
    ? CL_MEM_WRITE_ONLY
    : CL_MEM_READ_WRITE) | (BufferUsage.has(usage, BufferUsage.hostMemory) ? CL_MEM_ALLOC_HOST_PTR : 0)

/**
 * The cl_mem of a buffer that CommandQueue has checked: it belongs to this backend's device.
 *
 * @internal
 */
export const memoryOf = (buffer: DeviceBuffer): bigint => (buffer as OpenClBuffer).memory
