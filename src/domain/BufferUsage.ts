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
 * A set of usage flags, joined with `|`.
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
 * Whether memory of this usage is staging memory, which every backend with mappings of its own maps in place.
 *
 * @internal
 */
export const isStaging = (usage: BufferUsage): boolean => usage === download || usage === upload

const flags = UsageFlags.of("buffer", {
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
})

/**
 * The flags by name, for messages.
 *
 * @category functions
 * @since 0.1.0
 */
export const format: UsageFlags.UsageFlags["format"] = flags.format

/** @internal */
export const lackProblem: UsageFlags.UsageFlags["lackProblem"] = flags.lackProblem

/** @internal */
export const has: typeof UsageFlags.has = UsageFlags.has

/**
 * What the program itself does with a buffer's bytes: a read, a write, or both, as a mapping may.
 *
 * @internal
 */
export type HostAccess = "read" | "write" | "readwrite"

const forbidding: { readonly [A in HostAccess]: number } = {
  read: hostWriteOnly | hostNoAccess,
  write: hostReadOnly | hostNoAccess,
  readwrite: hostReadOnly | hostWriteOnly | hostNoAccess
}

/**
 * Whether the program may access a buffer of this usage in that way.
 *
 * @internal
 */
export const allowsHost = (usage: BufferUsage, access: HostAccess): boolean => (usage & forbidding[access]) === 0

/**
 * The flags that limit what the program itself may do; 0 where it may do all.
 *
 * @internal
 */
export const hostAccess = (usage: BufferUsage): BufferUsage => usage & forbidding.readwrite

const kernelRestrictions = kernelReadOnly | kernelWriteOnly

/**
 * Whether a sub-region of a buffer of usage `whole` can have `usage`: the same or less.
 *
 * @internal
 */
export const isWithin = (usage: BufferUsage, whole: BufferUsage): boolean =>
  typeof usage === "number" && typeof whole === "number" &&
  (usage & ~(whole | kernelRestrictions | forbidding.readwrite)) === 0 && has(usage, whole & kernelRestrictions) &&
  (["read", "write"] as const).every((access) => allowsHost(whole, access) || !allowsHost(usage, access))

/**
 * What is wrong with a usage, or `undefined` for a good one: it needs a known flag that gives the buffer a purpose, and
 * nothing unknown or contradictory.
 *
 * @internal
 */
export const problem = (usage: BufferUsage): string | undefined => {
  const unknown = flags.unknown(usage)
  if (unknown !== undefined) return unknown
  if ((usage & (storage | uniform | copySrc | copyDst | index | vertex | indirect)) === 0) {
    return `the usage ${format(usage)} allows no operation`
  }
  if (has(usage, kernelReadOnly | kernelWriteOnly)) return "kernelReadOnly and kernelWriteOnly exclude each other"
  const host = hostAccess(usage)
  // More than one flag: a power of two has no bit in common with the number before it.
  return (host & (host - 1)) === 0 ? undefined : `${format(host).replaceAll(" |", " and")} exclude each other`
}
