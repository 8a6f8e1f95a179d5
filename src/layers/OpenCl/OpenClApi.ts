/**
 * The OpenCL runtime's functions, bound through npm `koffi`.
 *
 * Handles are addresses as `bigint`; a parameter that the runtime reads from or writes to is a typed array, and must be
 * backed by an ArrayBuffer of its own wherever the runtime keeps the address beyond the call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { constVoid } from "effect/Function"
import { optionsProblem } from "../../domain/ArgumentProblem.ts"
import type { GpuError, TriedDevice } from "../../domain/GpuError.ts"
import * as KnownOptions from "../../domain/KnownOptions.ts"
import { messageOf } from "../../domain/ShownValue.ts"
import * as CompilerStack from "./CompilerStack.ts"
import { libraryProblem } from "./GivenOptions.ts"
import * as OpenClCode from "./OpenClCode.ts"
import { runtimeProblem } from "./RuntimeProblem.ts"
import { noLoader, noPackage } from "./UnavailableOpenCl.ts"

/**
 * An address: a handle, memory by its typed array, or null.
 *
 * @category models
 * @since 0.1.0
 */
export type Pointer = bigint | ArrayBufferView<ArrayBuffer> | ArrayBuffer | null

/** Texts are copied by koffi for as long as the call takes. */
type Argument = number | Pointer | string | ReadonlyArray<string>

/** What `koffi` makes of a function that returns `int32_t`. */
type Call<Args extends ReadonlyArray<Argument>> = (...args: Args) => number

/** A function that returns a new handle, or null with the code in its last argument. */
type Create<Args extends ReadonlyArray<Argument>> = (...args: Args) => bigint | null

/**
 * A call on a thread of libuv's; the callback gets the code. `error` is koffi's own, for results that it cannot
 * convert, and always null for a number. Memory must stay referenced until the callback.
 */
type AsyncCall<Args extends ReadonlyArray<Argument>> = (
  ...args: [...Args, (error: unknown, code: number) => void]
) => void

type GetInfo = Call<[object: bigint, what: number, bytes: number, value: Pointer, bytesNeeded: Pointer]>

type ImageTransfer = [
  image: bigint,
  blocking: number,
  origin: Pointer,
  region: Pointer,
  rowPitch: number,
  slicePitch: number,
  data: Pointer
]

type EnqueueEnd = [waitCount: number, waitList: Pointer, event: Pointer]

type HostRect = [
  blocking: number,
  bufferOrigin: Pointer,
  hostOrigin: Pointer,
  region: Pointer,
  bufferRowPitch: number,
  bufferSlicePitch: number,
  hostRowPitch: number,
  hostSlicePitch: number,
  data: Pointer
]

/**
 * The functions that this backend calls, by their OpenCL names. Arguments that this backend always leaves out
 * (callbacks and their data) are null. Functions ending in `Async` run on a thread of libuv's, which has four.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenClApi {
  readonly clGetPlatformIDsAsync: AsyncCall<[capacity: number, platforms: Pointer, count: Pointer]>
  readonly clGetPlatformInfo: GetInfo
  readonly clGetDeviceIDs: Call<[platform: bigint, type: number, capacity: number, devices: Pointer, count: Pointer]>
  readonly clGetDeviceInfo: GetInfo
  readonly clCreateContext: Create<
    [properties: Pointer, deviceCount: number, devices: Pointer, notify: null, data: null, code: Pointer]
  >
  readonly clReleaseContext: Call<[context: bigint]>
  readonly clCreateCommandQueue: Create<[context: bigint, device: bigint, properties: number, code: Pointer]>
  readonly clReleaseCommandQueue: Call<[queue: bigint]>
  readonly clCreateBuffer: Create<[context: bigint, flags: number, bytes: number, host: Pointer, code: Pointer]>
  /** The region is two size_t: origin and bytes. */
  readonly clCreateSubBuffer: Create<[memory: bigint, flags: number, type: number, region: Pointer, code: Pointer]>
  readonly clRetainMemObject: Call<[memory: bigint]>
  readonly clReleaseMemObject: Call<[memory: bigint]>
  readonly clGetMemObjectInfo: GetInfo
  readonly clCreateProgramWithSource: Create<
    [context: bigint, count: number, sources: ReadonlyArray<string>, lengths: null, code: Pointer]
  >
  readonly clBuildProgramAsync: AsyncCall<
    [program: bigint, deviceCount: number, devices: Pointer, options: string, notify: null, data: null]
  >
  readonly clGetProgramBuildInfo: Call<
    [program: bigint, device: bigint, what: number, bytes: number, value: Pointer, bytesNeeded: Pointer]
  >
  readonly clReleaseProgram: Call<[program: bigint]>
  readonly clCreateKernel: Create<[program: bigint, name: string, code: Pointer]>
  readonly clReleaseKernel: Call<[kernel: bigint]>
  readonly clSetKernelArg: Call<[kernel: bigint, index: number, bytes: number, value: Pointer]>
  readonly clGetKernelWorkGroupInfo: Call<
    [kernel: bigint, device: bigint, what: number, bytes: number, value: Pointer, bytesNeeded: Pointer]
  >
  readonly clEnqueueNDRangeKernel: Call<
    [
      queue: bigint,
      kernel: bigint,
      dimensions: number,
      offset: Pointer,
      globalSize: Pointer,
      localSize: Pointer,
      ...end: EnqueueEnd
    ]
  >
  readonly clEnqueueWriteBuffer: Call<
    [queue: bigint, target: bigint, blocking: number, offset: number, bytes: number, data: Pointer, ...end: EnqueueEnd]
  >
  readonly clEnqueueReadBuffer: Call<
    [queue: bigint, source: bigint, blocking: number, offset: number, bytes: number, data: Pointer, ...end: EnqueueEnd]
  >
  readonly clEnqueueCopyBuffer: Call<
    [
      queue: bigint,
      source: bigint,
      target: bigint,
      sourceOffset: number,
      targetOffset: number,
      bytes: number,
      ...end: EnqueueEnd
    ]
  >
  /** Origins and region are three size_t each; pitches are bytes. */
  readonly clEnqueueWriteBufferRect: Call<[queue: bigint, target: bigint, ...HostRect, ...end: EnqueueEnd]>
  readonly clEnqueueReadBufferRect: Call<[queue: bigint, source: bigint, ...HostRect, ...end: EnqueueEnd]>
  readonly clEnqueueCopyBufferRect: Call<
    [
      queue: bigint,
      source: bigint,
      target: bigint,
      sourceOrigin: Pointer,
      targetOrigin: Pointer,
      region: Pointer,
      sourceRowPitch: number,
      sourceSlicePitch: number,
      targetRowPitch: number,
      targetSlicePitch: number,
      ...end: EnqueueEnd
    ]
  >
  readonly clEnqueueMapBuffer: Create<
    [
      queue: bigint,
      memory: bigint,
      blocking: number,
      flags: number,
      offset: number,
      bytes: number,
      ...end: EnqueueEnd,
      code: Pointer
    ]
  >
  readonly clEnqueueUnmapMemObject: Call<[queue: bigint, memory: bigint, address: bigint, ...end: EnqueueEnd]>
  readonly clEnqueueFillBuffer: Call<
    [
      queue: bigint,
      target: bigint,
      pattern: Pointer,
      patternBytes: number,
      offset: number,
      bytes: number,
      ...end: EnqueueEnd
    ]
  >
  readonly clEnqueueMigrateMemObjects: Call<
    [queue: bigint, count: number, memory: Pointer, flags: number, ...end: EnqueueEnd]
  >
  /** Shared virtual memory came with OpenCL 2.0: where the loader is older, allocations are null and calls fail. */
  readonly clSVMAlloc: (context: bigint, flags: number, bytes: number, alignment: number) => bigint | null
  readonly clSVMFree: (context: bigint, address: bigint) => void
  readonly clEnqueueSVMFree: Call<
    [queue: bigint, count: number, addresses: Pointer, free: null, data: null, ...end: EnqueueEnd]
  >
  readonly clEnqueueSVMMap: Call<
    [queue: bigint, blocking: number, flags: number, address: bigint, bytes: number, ...end: EnqueueEnd]
  >
  readonly clEnqueueSVMUnmap: Call<[queue: bigint, address: bigint, ...end: EnqueueEnd]>
  readonly clEnqueueSVMMemFill: Call<
    [queue: bigint, target: bigint, pattern: Pointer, patternBytes: number, bytes: number, ...end: EnqueueEnd]
  >
  readonly clEnqueueSVMMemcpy: Call<
    [queue: bigint, blocking: number, target: bigint, source: bigint, bytes: number, ...end: EnqueueEnd]
  >
  /** Of OpenCL 2.1. */
  readonly clEnqueueSVMMigrateMem: Call<
    [queue: bigint, count: number, addresses: Pointer, sizes: Pointer, flags: number, ...end: EnqueueEnd]
  >
  /** For kernels of a program's own. */
  readonly clSetKernelArgSVMPointer: Call<[kernel: bigint, index: number, address: bigint]>
  readonly clEnqueueMarkerWithWaitList: Call<[queue: bigint, ...end: EnqueueEnd]>
  readonly clGetCommandQueueInfo: GetInfo
  readonly clRetainCommandQueue: Call<[queue: bigint]>
  /** The format is a cl_image_format, the description a cl_image_desc. */
  readonly clCreateImage: Create<
    [context: bigint, flags: number, format: Pointer, description: Pointer, host: Pointer, code: Pointer]
  >
  readonly clGetSupportedImageFormats: Call<
    [context: bigint, flags: number, type: number, capacity: number, formats: Pointer, count: Pointer]
  >
  readonly clGetImageInfo: GetInfo
  /** Origins and regions of images are three size_t each, in elements. */
  readonly clEnqueueWriteImage: Call<[queue: bigint, ...ImageTransfer, ...end: EnqueueEnd]>
  readonly clEnqueueReadImage: Call<[queue: bigint, ...ImageTransfer, ...end: EnqueueEnd]>
  readonly clEnqueueFillImage: Call<
    [queue: bigint, image: bigint, color: Pointer, origin: Pointer, region: Pointer, ...end: EnqueueEnd]
  >
  /** The origin, the region, and where the row pitch and the slice pitch go. */
  readonly clEnqueueMapImage: Create<
    [
      queue: bigint,
      image: bigint,
      blocking: number,
      flags: number,
      origin: Pointer,
      region: Pointer,
      rowPitch: Pointer,
      slicePitch: Pointer,
      ...end: EnqueueEnd,
      code: Pointer
    ]
  >
  readonly clEnqueueCopyImage: Call<
    [
      queue: bigint,
      source: bigint,
      target: bigint,
      sourceOrigin: Pointer,
      targetOrigin: Pointer,
      region: Pointer,
      ...end: EnqueueEnd
    ]
  >
  readonly clEnqueueCopyImageToBuffer: Call<
    [
      queue: bigint,
      source: bigint,
      target: bigint,
      origin: Pointer,
      region: Pointer,
      offset: number,
      ...end: EnqueueEnd
    ]
  >
  readonly clEnqueueCopyBufferToImage: Call<
    [
      queue: bigint,
      source: bigint,
      target: bigint,
      offset: number,
      origin: Pointer,
      region: Pointer,
      ...end: EnqueueEnd
    ]
  >
  readonly clCreateSampler: Create<
    [context: bigint, normalizedCoordinates: number, addressing: number, filter: number, code: Pointer]
  >
  /** Of OpenCL 2.0. */
  readonly clCreateSamplerWithProperties: Create<[context: bigint, properties: Pointer, code: Pointer]>
  readonly clGetSamplerInfo: GetInfo
  readonly clRetainSampler: Call<[sampler: bigint]>
  readonly clReleaseSampler: Call<[sampler: bigint]>
  readonly clGetEventInfo: GetInfo
  readonly clWaitForEventsAsync: AsyncCall<[count: number, events: Pointer]>
  readonly clReleaseEvent: Call<[event: bigint]>
  readonly clFlush: Call<[queue: bigint]>
  /**
   * An ArrayBuffer over memory of the driver's, as koffi makes it: valid until the driver gets the memory back. Its
   * `transfer(0)` must detach every view before that.
   */
  readonly view: (address: bigint, bytes: number) => ArrayBuffer
  /**
   * Bytes of the stack that functions ending in `Async` run on, compilers among them. A kernel whose source could make a
   * compiler use more is refused.
   */
  readonly asyncStackBytes: number
}

/**
 * The names under which systems know the OpenCL loader, in the order in which they are tried.
 *
 * @internal
 */
export const libraryNames = (platform: string): ReadonlyArray<string> => {
  switch (platform) {
    case "win32":
      return ["OpenCL.dll"]
    case "darwin":
      return ["/System/Library/Frameworks/OpenCL.framework/OpenCL"]
    default:
      return ["libOpenCL.so.1", "libOpenCL.so"]
  }
}

/** The part of npm `koffi` that this backend uses. */
type Koffi = Pick<typeof import("koffi"), "config" | "load" | "view">

type Library = ReturnType<Koffi["load"]>

const importKoffi = (): Promise<Koffi> => import("koffi")

/**
 * Loads koffi and the OpenCL loader, and binds the functions. Fails with DeviceUnavailable when either is missing.
 *
 * **Example** (Using a loader in an unusual place)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { OpenCl } from "effect-gpu-pool/opencl"
 *
 * const layer = Layer.unwrap(Effect.map(
 *   OpenCl.load({ library: "/opt/vendor/lib/libOpenCL.so" }),
 *   (api) => OpenCl.layerFrom(api, { device: 0 })
 * ))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const load = (options?: {
  /** The loader's file, instead of the system's usual names. */
  readonly library?: string | undefined
  /** Where koffi comes from, for tests. @internal */
  readonly koffi?: (() => Promise<Koffi>) | undefined
}): Effect.Effect<OpenClApi, GpuError> =>
  Effect.suspend(() => {
    const operation = "OpenCl.load"
    const problem = optionsProblem(operation, options, known)
    if (problem !== undefined) return problem
    const { koffi = importKoffi, library } = options ?? {}
    return libraryProblem(operation, library) ?? runtimeProblem() ?? Effect.flatMap(
      Effect.tryPromise({ try: koffi, catch: noPackage }),
      (koffi) => Effect.suspend(() => loadWith(koffi, library))
    )
  })

const known = KnownOptions.of<NonNullable<Parameters<typeof load>[0]>>({ library: true, koffi: true })

const loadWith = (koffi: Koffi, library: string | undefined): Effect.Effect<OpenClApi, GpuError> => {
  const tried: Array<Pick<TriedDevice, "device" | "why">> = []
  const stackBytes = CompilerStack.reserve(koffi)
  for (const name of library === undefined ? libraryNames(process.platform) : [library]) {
    try {
      return Effect.succeed(bind(koffi.load(name), koffi, stackBytes))
    } catch (cause) {
      tried.push({ device: name, why: messageOf(cause) })
    }
  }
  return noLoader(tried, library)
}

const pointer = "void*"
const handle = pointer
const uint = "uint32_t"
const bitfield = "uint64_t"
const size = "size_t"
const text = "const char*"
const texts = "const char**"
const enqueueEnd = [uint, pointer, pointer]
const hostRect = [handle, handle, uint, pointer, pointer, pointer, size, size, size, size, pointer, ...enqueueEnd]
const imageTransfer = [handle, handle, uint, pointer, pointer, size, size, pointer, ...enqueueEnd]

/** A function that a loader may be too old to have. */
const orElse = <F, G>(bound: () => F, missing: G): F | G => {
  try {
    return bound()
  } catch {
    return missing
  }
}

const bind = (library: Library, { view }: Koffi, asyncStackBytes: number): OpenClApi => {
  const call = (name: string, ...types: ReadonlyArray<string>) => library.func(name, "int32_t", [...types])
  const create = (name: string, ...types: ReadonlyArray<string>) => library.func(name, handle, [...types, pointer])
  const newer = (name: string, ...types: ReadonlyArray<string>) =>
    orElse(() => call(name, ...types), () => OpenClCode.invalidOperation)
  const newerHandle = (name: string, ...types: ReadonlyArray<string>) =>
    orElse(() => create(name, ...types), (...args: ReadonlyArray<unknown>) => {
      const code = args.at(-1)
      if (code instanceof Int32Array) code[0] = OpenClCode.invalidOperation
      return null
    })
  const info = (name: string, ...objects: ReadonlyArray<string>) => call(name, ...objects, uint, size, pointer, pointer)
  return {
    clGetPlatformIDsAsync: call("clGetPlatformIDs", uint, pointer, pointer).async,
    clGetPlatformInfo: info("clGetPlatformInfo", handle),
    clGetDeviceIDs: call("clGetDeviceIDs", handle, bitfield, uint, pointer, pointer),
    clGetDeviceInfo: info("clGetDeviceInfo", handle),
    clCreateContext: create("clCreateContext", pointer, uint, pointer, pointer, pointer),
    clReleaseContext: call("clReleaseContext", handle),
    clCreateCommandQueue: create("clCreateCommandQueue", handle, handle, bitfield),
    clReleaseCommandQueue: call("clReleaseCommandQueue", handle),
    clCreateBuffer: create("clCreateBuffer", handle, bitfield, size, pointer),
    clCreateSubBuffer: create("clCreateSubBuffer", handle, bitfield, uint, pointer),
    clRetainMemObject: call("clRetainMemObject", handle),
    clReleaseMemObject: call("clReleaseMemObject", handle),
    clGetMemObjectInfo: info("clGetMemObjectInfo", handle),
    clCreateProgramWithSource: create("clCreateProgramWithSource", handle, uint, texts, pointer),
    clBuildProgramAsync: call("clBuildProgram", handle, uint, pointer, text, pointer, pointer).async,
    clGetProgramBuildInfo: info("clGetProgramBuildInfo", handle, handle),
    clReleaseProgram: call("clReleaseProgram", handle),
    clCreateKernel: create("clCreateKernel", handle, text),
    clReleaseKernel: call("clReleaseKernel", handle),
    clSetKernelArg: call("clSetKernelArg", handle, uint, size, pointer),
    clGetKernelWorkGroupInfo: info("clGetKernelWorkGroupInfo", handle, handle),
    clEnqueueNDRangeKernel: call(
      "clEnqueueNDRangeKernel",
      handle,
      handle,
      uint,
      pointer,
      pointer,
      pointer,
      ...enqueueEnd
    ),
    clEnqueueWriteBuffer: call("clEnqueueWriteBuffer", handle, handle, uint, size, size, pointer, ...enqueueEnd),
    clEnqueueReadBuffer: call("clEnqueueReadBuffer", handle, handle, uint, size, size, pointer, ...enqueueEnd),
    clEnqueueCopyBuffer: call("clEnqueueCopyBuffer", handle, handle, handle, size, size, size, ...enqueueEnd),
    clEnqueueWriteBufferRect: call("clEnqueueWriteBufferRect", ...hostRect),
    clEnqueueReadBufferRect: call("clEnqueueReadBufferRect", ...hostRect),
    clEnqueueCopyBufferRect: call(
      "clEnqueueCopyBufferRect",
      handle,
      handle,
      handle,
      pointer,
      pointer,
      pointer,
      size,
      size,
      size,
      size,
      ...enqueueEnd
    ),
    clEnqueueMapBuffer: create("clEnqueueMapBuffer", handle, handle, uint, bitfield, size, size, ...enqueueEnd),
    clEnqueueUnmapMemObject: call("clEnqueueUnmapMemObject", handle, handle, pointer, ...enqueueEnd),
    clEnqueueFillBuffer: call("clEnqueueFillBuffer", handle, handle, pointer, size, size, size, ...enqueueEnd),
    clEnqueueMigrateMemObjects: call("clEnqueueMigrateMemObjects", handle, uint, pointer, bitfield, ...enqueueEnd),
    clSVMAlloc: orElse(() => library.func("clSVMAlloc", pointer, [handle, bitfield, size, uint]), () => null),
    clSVMFree: orElse(() => library.func("clSVMFree", "void", [handle, pointer]), constVoid),
    clEnqueueSVMFree: newer("clEnqueueSVMFree", handle, uint, pointer, pointer, pointer, ...enqueueEnd),
    clEnqueueSVMMap: newer("clEnqueueSVMMap", handle, uint, bitfield, pointer, size, ...enqueueEnd),
    clEnqueueSVMUnmap: newer("clEnqueueSVMUnmap", handle, pointer, ...enqueueEnd),
    clEnqueueSVMMemFill: newer("clEnqueueSVMMemFill", handle, pointer, pointer, size, size, ...enqueueEnd),
    clEnqueueSVMMemcpy: newer("clEnqueueSVMMemcpy", handle, uint, pointer, pointer, size, ...enqueueEnd),
    clEnqueueSVMMigrateMem: newer("clEnqueueSVMMigrateMem", handle, uint, pointer, pointer, bitfield, ...enqueueEnd),
    clSetKernelArgSVMPointer: newer("clSetKernelArgSVMPointer", handle, uint, pointer),
    clEnqueueMarkerWithWaitList: call("clEnqueueMarkerWithWaitList", handle, ...enqueueEnd),
    clGetCommandQueueInfo: info("clGetCommandQueueInfo", handle),
    clRetainCommandQueue: call("clRetainCommandQueue", handle),
    clCreateImage: newerHandle("clCreateImage", handle, bitfield, pointer, pointer, pointer),
    clGetSupportedImageFormats: call("clGetSupportedImageFormats", handle, bitfield, uint, uint, pointer, pointer),
    clGetImageInfo: info("clGetImageInfo", handle),
    clEnqueueWriteImage: call("clEnqueueWriteImage", ...imageTransfer),
    clEnqueueReadImage: call("clEnqueueReadImage", ...imageTransfer),
    clEnqueueFillImage: newer("clEnqueueFillImage", handle, handle, pointer, pointer, pointer, ...enqueueEnd),
    clEnqueueMapImage: create(
      "clEnqueueMapImage",
      handle,
      handle,
      uint,
      bitfield,
      pointer,
      pointer,
      pointer,
      pointer,
      ...enqueueEnd
    ),
    clEnqueueCopyImage: call("clEnqueueCopyImage", handle, handle, handle, pointer, pointer, pointer, ...enqueueEnd),
    clEnqueueCopyImageToBuffer: call(
      "clEnqueueCopyImageToBuffer",
      handle,
      handle,
      handle,
      pointer,
      pointer,
      size,
      ...enqueueEnd
    ),
    clEnqueueCopyBufferToImage: call(
      "clEnqueueCopyBufferToImage",
      handle,
      handle,
      handle,
      size,
      pointer,
      pointer,
      ...enqueueEnd
    ),
    clCreateSampler: create("clCreateSampler", handle, uint, uint, uint),
    clCreateSamplerWithProperties: newerHandle("clCreateSamplerWithProperties", handle, pointer),
    clGetSamplerInfo: info("clGetSamplerInfo", handle),
    clRetainSampler: call("clRetainSampler", handle),
    clReleaseSampler: call("clReleaseSampler", handle),
    clGetEventInfo: info("clGetEventInfo", handle),
    clWaitForEventsAsync: call("clWaitForEvents", uint, pointer).async,
    clReleaseEvent: call("clReleaseEvent", handle),
    clFlush: call("clFlush", handle),
    view: (address, bytes) => view(address, bytes),
    asyncStackBytes
  }
}
