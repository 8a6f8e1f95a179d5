/**
 * Drivers that use every freedom of the standard, as NVIDIA's does, to find mistakes that PoCL never shows.
 */
import type { Triple } from "../../src/layers/OpenCl/commands/RectangleParts.ts"
import type { OpenCl } from "../../src/opencl.ts"
import { answering, type Bends } from "./watchedOpenCl.ts"

type Api = OpenCl.OpenClApi
type AnyFunction = (...args: ReadonlyArray<unknown>) => unknown

const CL_INVALID_VALUE = -30
const CL_OUT_OF_RESOURCES = -5
const CL_MEM_SIZE = 0x1102
const CL_DEVICE_MAX_PARAMETER_SIZE = 0x1017
const CL_RGBA = 0x10b5
const CL_BGRA = 0x10b6
const CL_SNORM_INT8 = 0x10d0
const CL_SNORM_INT16 = 0x10d1
const CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019
const CL_PLATFORM_NAME = 0x0902
const CL_MEM_OBJECT_IMAGE1D_ARRAY = 0x10f5

/** The events of a list, or other handles. */
export const eventsOf = (
  count: number,
  list: unknown
): ReadonlyArray<bigint> => [...(list as BigUint64Array).subarray(0, count)]

const CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3
const CL_RUNNING = 1

/** How many times the status of such a read is "running". */
const runningAnswers = 2

/**
 * A driver that stores the bytes of a read only when the program waits for its event. The read may still run when a
 * later command of its queue has ended.
 */
export const lateReads: Bends = (api) => {
  const late = new Map<bigint, () => void>()
  const asked = new Map<bigint, number>()
  const reading = (name: "clEnqueueReadBuffer" | "clEnqueueReadBufferRect" | "clEnqueueReadImage") =>
    ({
      [name]: (...args: ReadonlyArray<unknown>) => {
        const memory = new Uint8Array(args.at(-4) as ArrayBuffer)
        const before = memory.slice()
        const found = memory.slice()
        const code = (api[name] as AnyFunction)(...args.slice(0, -4), found.buffer, ...args.slice(-3))
        // Several commands may read into the same memory: each stores only what it has read.
        const store = () => found.forEach((byte, at) => byte === before[at] || (memory[at] = byte))
        if (code === 0) {
          const event = (args.at(-1) as BigUint64Array)[0]!
          late.set(event, store)
          asked.set(event, 0)
        }
        return code
      }
    }) as Partial<Api>
  const end = (event: bigint) => {
    late.get(event)?.()
    late.delete(event)
    asked.delete(event)
  }
  return {
    clGetEventInfo: (event, what, bytes, value, needed) => {
      const code = api.clGetEventInfo(event, what, bytes, value, needed)
      const times = asked.get(event)
      if (what !== CL_EVENT_COMMAND_EXECUTION_STATUS || times === undefined) return code
      asked.set(event, times + 1)
      if (times < runningAnswers && value instanceof Int32Array) value[0] = Math.max(value[0]!, CL_RUNNING)
      return code
    },
    ...reading("clEnqueueReadBuffer"),
    ...reading("clEnqueueReadBufferRect"),
    ...reading("clEnqueueReadImage"),
    clWaitForEvents: (count, list) => {
      const code = api.clWaitForEvents(count, list)
      eventsOf(count, list).forEach(end)
      return code
    },
    clWaitForEventsAsync: (count, list, callback) => {
      const events = eventsOf(count, list)
      api.clWaitForEventsAsync(count, list, (...results) => {
        events.forEach(end)
        callback(...results)
      })
    },
    clReleaseEvent: (event) => {
      late.delete(event)
      asked.delete(event)
      return api.clReleaseEvent(event)
    }
  }
}

/**
 * Whether NVIDIA's driver accepts a rectangle: its check, as inferred from 120,000 rectangles of every kind, and those
 * of the standard.
 */
export const isTaken = (
  [bytes, rows, slices]: Triple,
  [byte, row, slice]: Triple,
  rowPitch: number,
  slicePitch: number,
  size: number
): boolean =>
  bytes > 0 && rows > 0 && slices > 0 && rowPitch >= bytes && slicePitch >= rows * rowPitch &&
  slicePitch % rowPitch === 0 && (slice + slices) * slicePitch <= size && (row + rows) * rowPitch <= size &&
  byte + row * rowPitch + slice * slicePitch + bytes + (rows - 1) * rowPitch + (slices - 1) * slicePitch <= size

/**
 * A driver like NVIDIA's, also by name: between a 1-D array and a buffer it copies only the first layer alone, and
 * between the array and an image of another kind only one layer.
 */
export const firstLayers: Bends = (api) => {
  const rowImages = new Set<bigint>()
  const isRefused = (image: bigint, origin: OpenCl.Pointer, extent: OpenCl.Pointer): boolean =>
    rowImages.has(image) && ((origin as Uint32Array)[2]! > 0 || (extent as Uint32Array)[2]! > 1)
  return {
    clGetPlatformInfo: answering(api.clGetPlatformInfo, CL_PLATFORM_NAME, "NVIDIA CUDA"),
    clCreateImage: (context, flags, format, description, data, code) => {
      const image = api.clCreateImage(context, flags, format, description, data, code)
      const isRow = new Uint32Array(description as ArrayBuffer)[0] === CL_MEM_OBJECT_IMAGE1D_ARRAY
      if (image !== null && isRow) rowImages.add(image)
      return image
    },
    clReleaseMemObject: (memory) => {
      rowImages.delete(memory)
      return api.clReleaseMemObject(memory)
    },
    clEnqueueCopyImage: (...args) => {
      const [, source, target, , , extent] = args
      const isMixed = rowImages.has(source) !== rowImages.has(target)
      return isMixed && (extent as Uint32Array)[2]! > 1 ? CL_INVALID_VALUE : api.clEnqueueCopyImage(...args)
    },
    clEnqueueCopyImageToBuffer: (...args) =>
      isRefused(args[1], args[3], args[4]) ? CL_INVALID_VALUE : api.clEnqueueCopyImageToBuffer(...args),
    clEnqueueCopyBufferToImage: (...args) =>
      isRefused(args[2], args[4], args[5]) ? CL_INVALID_VALUE : api.clEnqueueCopyBufferToImage(...args)
  }
}

/** A driver that refuses to migrate sub-buffers. */
export const wholesAlone: Bends = (api) => {
  const parts = new Set<bigint>()
  return {
    clCreateSubBuffer: (...args) => {
      const part = api.clCreateSubBuffer(...args)
      if (part !== null) parts.add(part)
      return part
    },
    clReleaseMemObject: (memory) => {
      parts.delete(memory)
      return api.clReleaseMemObject(memory)
    },
    clEnqueueMigrateMemObjects: (queue, count, objects, ...rest) =>
      eventsOf(count, objects).some((memory) => parts.has(memory))
        ? CL_INVALID_VALUE
        : api.clEnqueueMigrateMemObjects(queue, count, objects, ...rest)
  }
}

/** Where each sub-buffer lies. */
const subBuffersOf = (api: Api) => {
  const known = new Map<bigint, { readonly whole: bigint; readonly origin: number; references: number }>()
  const bends: Partial<Api> = {
    clCreateSubBuffer: (...args) => {
      const made = api.clCreateSubBuffer(...args)
      const [whole, , , region] = args
      if (made !== null) known.set(made, { whole, origin: Number((region as BigUint64Array)[0]), references: 1 })
      return made
    },
    clRetainMemObject: (memory) => {
      const found = known.get(memory)
      if (found !== undefined) found.references += 1
      return api.clRetainMemObject(memory)
    },
    clReleaseMemObject: (memory) => {
      const found = known.get(memory)
      if (found !== undefined && --found.references === 0) known.delete(memory)
      return api.clReleaseMemObject(memory)
    }
  }
  return { known, bends }
}

/** A driver that copies rows and elements of images from and to sub-buffers, with which PoCL ends the process. */
export const withSubBuffers: Bends = (api) => {
  const { bends, known } = subBuffersOf(api)
  const placeOf = (memory: bigint) => known.get(memory) ?? { whole: memory, origin: 0 }
  return {
    ...bends,
    clEnqueueCopyImageToBuffer: (queue, image, buffer, origin, extent, offset, ...rest) => {
      const place = placeOf(buffer)
      const at = place.origin + offset
      return api.clEnqueueCopyImageToBuffer(queue, image, place.whole, origin, extent, at, ...rest)
    },
    clEnqueueCopyBufferToImage: (queue, buffer, image, offset, ...rest) => {
      const place = placeOf(buffer)
      return api.clEnqueueCopyBufferToImage(queue, place.whole, image, place.origin + offset, ...rest)
    },
    clEnqueueCopyBufferRect: (...args) => {
      const [queue, source, target, here, there, region, fromRow, fromSlice, toRow, toSlice, , , event] = args
      if (!known.has(source) && !known.has(target)) return api.clEnqueueCopyBufferRect(...args)
      const [from, to, [bytes, rows, slices]] = [triple(here), triple(there), triple(region)]
      let code = 0
      for (let line = 0; line < rows * slices && code === 0; line++) {
        const [row, slice] = [line % rows, Math.floor(line / rows)]
        const read = from[0] + (from[1] + row) * fromRow + (from[2] + slice) * fromSlice
        const written = to[0] + (to[1] + row) * toRow + (to[2] + slice) * toSlice
        const last = line + 1 === rows * slices ? event : null
        code = api.clEnqueueCopyBuffer(queue, source, target, read, written, bytes, 0, null, last)
      }
      return code
    }
  }
}

const CL_MAP_READ = 1

/** A driver that refuses commands on a buffer while a sub-buffer of it is mapped for writing. */
export const partsApart: Bends = (api) => {
  const { bends, known } = subBuffersOf(api)
  const mapped = new Map<bigint, bigint>()
  const isRefused = (memory: unknown) => [...mapped.values()].includes(memory as bigint)
  const guarded = (name: keyof Api & `clEnqueue${string}`, memories: number) => ({
    [name]: (...args: ReadonlyArray<unknown>) =>
      args.slice(1, 1 + memories).some(isRefused) ? CL_INVALID_VALUE : (api[name] as AnyFunction)(...args)
  })
  return {
    ...bends,
    ...guarded("clEnqueueReadBuffer", 1),
    ...guarded("clEnqueueWriteBuffer", 1),
    ...guarded("clEnqueueFillBuffer", 1),
    ...guarded("clEnqueueReadBufferRect", 1),
    ...guarded("clEnqueueWriteBufferRect", 1),
    ...guarded("clEnqueueCopyBuffer", 2),
    ...guarded("clEnqueueCopyBufferRect", 2),
    ...guarded("clEnqueueCopyBufferToImage", 1),
    clEnqueueMapBuffer: (...args) => {
      const address = isRefused(args[1]) ? null : api.clEnqueueMapBuffer(...args)
      const whole = known.get(args[1])?.whole
      if (address !== null && whole !== undefined && args[3] !== CL_MAP_READ) mapped.set(address, whole)
      return address
    },
    clEnqueueUnmapMemObject: (...args) => {
      mapped.delete(args[2])
      return api.clEnqueueUnmapMemObject(...args)
    }
  }
}

/** A driver with that check, which counts the rectangles. */
export class WholeSlices {
  rectangles = 0

  readonly bends: Bends = (api) => {
    const check = (
      memory: bigint,
      region: OpenCl.Pointer,
      origin: OpenCl.Pointer,
      rowPitch: number,
      slicePitch: number
    ): boolean => {
      const size = new BigUint64Array(new ArrayBuffer(8))
      api.clGetMemObjectInfo(memory, CL_MEM_SIZE, 8, size, null)
      return isTaken(triple(region), triple(origin), rowPitch, slicePitch, Number(size[0]))
    }
    const host = (name: "clEnqueueReadBufferRect" | "clEnqueueWriteBufferRect") => ({
      [name]: (...args: Parameters<typeof api[typeof name]>): number => {
        const [, memory, , origin, , region, rowPitch, slicePitch] = args
        this.rectangles += 1
        return check(memory, region, origin, rowPitch, slicePitch) ? api[name](...args) : CL_INVALID_VALUE
      }
    })
    return {
      ...host("clEnqueueReadBufferRect"),
      ...host("clEnqueueWriteBufferRect"),
      clEnqueueCopyBufferRect: (...args) => {
        const [, source, target, here, there, region, fromRow, fromSlice, toRow, toSlice] = args
        this.rectangles += 1
        return check(source, region, here, fromRow, fromSlice) && check(target, region, there, toRow, toSlice)
          ? api.clEnqueueCopyBufferRect(...args)
          : CL_INVALID_VALUE
      }
    }
  }
}

const triple = (sizes: OpenCl.Pointer): Triple => {
  const [x, y, z] = sizes as BigUint64Array
  return [Number(x), Number(y), Number(z)]
}

/** A driver that refuses to map a byte twice, and to unmap what is not mapped. */
export class Uncounted {
  readonly mapped = new Map<bigint, bigint>()
  /** The number of the first map command that is refused, and all after it. */
  refusesFrom = Infinity
  #maps = 0

  readonly bends: Bends = (api) => ({
    clEnqueueSVMMap: (...args) => {
      const [, , , start, bytes] = args
      const end = start + BigInt(bytes)
      if (++this.#maps >= this.refusesFrom) return CL_OUT_OF_RESOURCES
      if ([...this.mapped].some(([from, to]) => from < end && start < to)) return CL_INVALID_VALUE
      this.mapped.set(start, end)
      return api.clEnqueueSVMMap(...args)
    },
    clEnqueueSVMUnmap: (...args) => this.mapped.delete(args[1]) ? api.clEnqueueSVMUnmap(...args) : CL_INVALID_VALUE
  })
}

/** A driver that lists rgba snorm8 under a non-standard name, and aligns sub-regions to 512 bytes. */
const fewer: Bends = (api) => ({
  clGetDeviceInfo: answering(
    answering(api.clGetDeviceInfo, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4096),
    CL_DEVICE_MAX_PARAMETER_SIZE,
    32764n
  ),
  clGetSupportedImageFormats: (context, flags, type, capacity, formats, count) => {
    const code = api.clGetSupportedImageFormats(context, flags, type, capacity, formats, count)
    if (formats instanceof Uint32Array) {
      for (let at = 0; at < formats.length; at += 2) {
        if (formats[at] === CL_RGBA && formats[at + 1] === CL_SNORM_INT8) formats.set([CL_BGRA, CL_SNORM_INT16], at)
      }
    }
    return code
  }
})

/** All of them in one. */
export const strict: Bends = (api) =>
  [
    withSubBuffers,
    fewer,
    new WholeSlices().bends,
    new Uncounted().bends,
    firstLayers,
    wholesAlone,
    partsApart,
    lateReads
  ]
    .reduce<Partial<Api>>((bent, bends) => ({ ...bent, ...bends({ ...api, ...bent }) }), {})
