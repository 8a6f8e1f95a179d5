/**
 * What a buffer may be used for, as bit flags that every backend understands.
 *
 * WebGPU uses all of them; OpenCL and the host ignore flags that they do not need. But every operation checks the usage
 * that it needs on every backend, so that a program that works on one works on all.
 *
 * @since 0.1.0
 */
import * as UsageFlags from "./UsageFlags.ts"

/**
 * A set of usage flags, joined with `|`. The bits are the library's own, and not those of `GPUBufferUsage` or `cl_mem_flags`:
 * `GPUBufferUsage.STORAGE` is the bit of {@link kernelReadOnly}.
 *
 * **Example** (Buffers by what they are for)
 *
 * ```ts
 * import { BufferPool, BufferUsage } from "effect-gpu-pool"
 *
 * const { copyDst, copySrc, hostNoAccess, hostReadOnly, index, indirect, kernelReadOnly, storage, vertex } = BufferUsage
 *
 * const input = BufferPool.allocate(1024, { usage: storage | copyDst })
 * const table = BufferPool.allocate(1024, { usage: storage | copyDst | kernelReadOnly })
 * const result = BufferPool.allocate(1024, { usage: storage | copySrc | hostReadOnly })
 * const betweenTwoKernels = BufferPool.allocate(65536, { usage: storage | hostNoAccess })
 * const triangles = BufferPool.allocate(6144, { usage: index | copyDst })
 * const particles = BufferPool.allocate(65536, { usage: vertex | storage })
 * const howMuchIsDrawn = BufferPool.allocate(16, { usage: indirect | storage })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type BufferUsage = number

/**
 * Kernels read and write it.
 *
 * @category flags
 * @since 0.1.0
 */
export const storage = 1

/**
 * Kernels read it as a uniform block.
 *
 * @category flags
 * @since 0.1.0
 */
export const uniform = 2

/**
 * Copies and reads take data from it.
 *
 * @category flags
 * @since 0.1.0
 */
export const copySrc = 4

/**
 * Copies, writes and fills put data into it.
 *
 * @category flags
 * @since 0.1.0
 */
export const copyDst = 8

/**
 * Draw calls take indices from it (WebGPU).
 *
 * @category flags
 * @since 0.1.0
 */
export const index = 16

/**
 * Draw calls take vertices from it (WebGPU).
 *
 * @category flags
 * @since 0.1.0
 */
export const vertex = 32

/**
 * Indirect draws and dispatches take their counts from it (WebGPU).
 *
 * @category flags
 * @since 0.1.0
 */
export const indirect = 64

/**
 * Kernels only read it: CL_MEM_READ_ONLY. Binding it writable is InvalidRequest on every backend.
 *
 * @category flags
 * @since 0.1.0
 */
export const kernelReadOnly = 128

/**
 * Kernels only write it: CL_MEM_WRITE_ONLY. Binding it readable is InvalidRequest on every backend.
 *
 * @category flags
 * @since 0.1.0
 */
export const kernelWriteOnly = 256

/**
 * Memory that the host can access, where a backend has more than one kind: CL_MEM_ALLOC_HOST_PTR. OpenCL's CPU devices
 * use it for all memory: see `OpenCl.DeviceOptions`.
 *
 * @category flags
 * @since 0.1.0
 */
export const hostMemory = 512

/**
 * The program only reads it: CL_MEM_HOST_READ_ONLY. A write, or a mapping that may write, is InvalidRequest on every backend;
 * kernels, copies and fills put data into it as into any other. OpenCL drivers get the flag from version 1.2 on, and may
 * choose other memory for it.
 *
 * @category flags
 * @since 0.1.0
 */
export const hostReadOnly = 1024

/**
 * The program only writes it: CL_MEM_HOST_WRITE_ONLY. A read, or a mapping that may read, is InvalidRequest on every backend;
 * kernels and copies take data from it as from any other.
 *
 * @category flags
 * @since 0.1.0
 */
export const hostWriteOnly = 2048

/**
 * The program neither reads nor writes it: CL_MEM_HOST_NO_ACCESS. Reads, writes and mappings are InvalidRequest on every
 * backend; kernels, copies and fills use it as any other.
 *
 * @category flags
 * @since 0.1.0
 */
export const hostNoAccess = 4096

/**
 * The usage of an `allocate` that names none: storage, copySrc and copyDst.
 *
 * **Example** (The default, with one flag more)
 *
 * ```ts
 * import { BufferPool, BufferUsage } from "effect-gpu-pool"
 *
 * const particles = BufferPool.allocate(65536, { usage: BufferUsage.defaultUsage | BufferUsage.vertex })
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultUsage: BufferUsage = storage | copySrc | copyDst

/**
 * Staging memory for what comes from the device: commands copy to it, and the program maps it to read. Exactly these flags
 * make a GPUBuffer with MAP_READ, pinned memory on OpenCL.
 *
 * @category constants
 * @since 0.1.0
 */
export const download: BufferUsage = hostMemory | copyDst | hostReadOnly

/**
 * Staging memory for what goes to the device: the program maps it to write, and commands copy from it. Exactly these flags
 * make a GPUBuffer with MAP_WRITE, pinned memory on OpenCL.
 *
 * @category constants
 * @since 0.1.0
 */
export const upload: BufferUsage = hostMemory | copySrc | hostWriteOnly

/**
 * The flags by their names.
 *
 * @category flags
 * @since 0.1.0
 */
export const flags = {
  storage,
  uniform,
  copySrc,
  copyDst,
  index,
  vertex,
  indirect,
  kernelReadOnly,
  kernelWriteOnly,
  hostMemory,
  hostReadOnly,
  hostWriteOnly,
  hostNoAccess
} as const

/**
 * The flags by name, for messages.
 *
 * @category functions
 * @since 0.1.0
 */
export const format: (usage: BufferUsage) => string = UsageFlags.of("buffer", flags).format

/**
 * Whether a usage has every flag of a set.
 *
 * @category predicates
 * @since 0.1.0
 */
export const has: (usage: BufferUsage, flags: BufferUsage) => boolean = UsageFlags.has
