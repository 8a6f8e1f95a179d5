/**
 * The OpenCL runtime's functions, bound through npm `koffi`.
 *
 * Handles are addresses as `bigint`; a parameter that the runtime reads from or writes to is a typed array, and must be
 * backed by an ArrayBuffer of its own wherever the runtime keeps the address beyond the call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { DeviceUnavailable, type GpuError, make as makeError } from "../../domain/GpuError.ts"

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

type EnqueueEnd = [waitCount: number, waitList: Pointer, event: Pointer]

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
  readonly clReleaseMemObject: Call<[memory: bigint]>
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
  readonly clGetEventInfo: GetInfo
  readonly clWaitForEventsAsync: AsyncCall<[count: number, events: Pointer]>
  readonly clReleaseEvent: Call<[event: bigint]>
  readonly clFlush: Call<[queue: bigint]>
}

/**
 * How to get an OpenCL device, as every DeviceUnavailable of this backend ends.
 *
 * @internal
 */
export const hint =
  "Install koffi (`npm install koffi`), an OpenCL loader and a driver: on Debian and Ubuntu the packages " +
  "ocl-icd-libopencl1 and pocl-opencl-icd, or `npm run drivers` in this library's repository; elsewhere the " +
  "driver of your GPU's vendor, or PoCL."

const unavailable = (device: string, why: string): GpuError =>
  makeError(new DeviceUnavailable({ tried: [{ backend: "opencl", device, why }], hint }))

const reasonOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

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
type Koffi = Pick<typeof import("koffi"), "load">

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
  Effect.tryPromise({
    try: options?.koffi ?? importKoffi,
    catch: (cause) => unavailable("npm koffi", reasonOf(cause))
  }).pipe(Effect.flatMap((koffi) =>
    Effect.suspend(() => {
      const names = options?.library === undefined ? libraryNames(process.platform) : [options.library]
      const tried: Array<DeviceUnavailable["tried"][number]> = []
      for (const name of names) {
        try {
          return Effect.succeed(bind(koffi.load(name)))
        } catch (cause) {
          tried.push({ backend: "opencl", device: name, why: reasonOf(cause) })
        }
      }
      return makeError(new DeviceUnavailable({ tried, hint }))
    })
  ))

const pointer = "void*"
const handle = pointer
const uint = "uint32_t"
const bitfield = "uint64_t"
const size = "size_t"
const text = "const char*"
const texts = "const char**"
const enqueueEnd = [uint, pointer, pointer]

const bind = (library: Library): OpenClApi => {
  const call = (name: string, ...types: ReadonlyArray<string>) => library.func(name, "int32_t", [...types])
  const create = (name: string, ...types: ReadonlyArray<string>) => library.func(name, handle, [...types, pointer])
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
    clReleaseMemObject: call("clReleaseMemObject", handle),
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
    clEnqueueFillBuffer: call("clEnqueueFillBuffer", handle, handle, pointer, size, size, size, ...enqueueEnd),
    clEnqueueMigrateMemObjects: call("clEnqueueMigrateMemObjects", handle, uint, pointer, bitfield, ...enqueueEnd),
    clGetEventInfo: info("clGetEventInfo", handle),
    clWaitForEventsAsync: call("clWaitForEvents", uint, pointer).async,
    clReleaseEvent: call("clReleaseEvent", handle),
    clFlush: call("clFlush", handle)
  }
}
