/**
 * The OpenCL runtime's functions, bound through npm `koffi`.
 *
 * Handles are addresses as `bigint`; a parameter that the runtime reads from or writes to is a typed array, and must be
 * backed by an ArrayBuffer of its own wherever the runtime keeps the address beyond the call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { messageOf } from "../../domain/arguments/Format.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { type GpuError, isGpuError, type ProbedDevice } from "../../domain/GpuError.ts"
import * as CompilerStack from "./kernels/CompilerStack.ts"
import * as OpenClCode from "./OpenClCode.ts"
import { library } from "./opening/OpenOptions.ts"
import { noLoader, noPackage, runtimeProblem } from "./opening/UnavailableOpenCl.ts"

/**
 * An address: a handle, memory by its typed array, or null.
 *
 * @category models
 * @since 0.1.0
 */
export type Pointer = bigint | ArrayBufferView<ArrayBuffer> | ArrayBuffer | null

/**
 * What arguments are in TypeScript, by their names in the table below. Koffi copies texts for the duration of the call.
 */
interface Arguments {
  readonly handle: bigint
  readonly pointer: Pointer
  readonly uint: number
  readonly bitfield: number
  readonly size: number
  readonly text: string
  readonly texts: ReadonlyArray<string>
}

/** The same types by koffi's names. */
const nativeTypes: { readonly [N in keyof Arguments]: string } = {
  handle: "void*",
  pointer: "void*",
  uint: "uint32_t",
  bitfield: "uint64_t",
  size: "size_t",
  text: "const char*",
  texts: "const char**"
}

type Types = ReadonlyArray<keyof Arguments>

/** What functions return, by koffi's names. One that runs on a thread of libuv's gives its code to a callback. */
interface Results {
  readonly int32_t: number
  readonly "void*": bigint | null
  readonly void: void
  readonly async: void
}

/** A function of OpenCL. */
interface Native<Args extends Types, Result extends keyof Results> {
  readonly args: Args
  readonly result: Result
}

type Values<Args extends Types> = { [I in keyof Args]: Arguments[Args[I]] }

/**
 * The function as koffi binds it. The callback of a call on a thread gets the code; `error` is koffi's own, for results
 * that it cannot convert, and always null for a number. Memory must stay referenced until the callback.
 */
type Bound<N> = N extends Native<infer Args, "async">
  ? (...args: [...Values<Args>, (error: unknown, code: number) => void]) => void
  : N extends Native<infer Args, infer Result> ? (...args: Values<Args>) => Results[Result]
  : never

const returning = <Result extends keyof Results>(result: Result) =>
<const Args extends Types>(
  ...args: Args
): Native<Args, Result> => ({ args, result })

/** A function that returns a code. */
const call = returning("int32_t")
const address = returning("void*")
const async = returning("async")

/** A function that returns a new handle, or null with the code in its last argument. */
const create = <const Args extends Types>(...args: Args) => address(...args, "pointer")

const handle = "handle"
const pointer = "pointer"
const uint = "uint"
const bitfield = "bitfield"
const size = "size"
const text = "text"
const texts = "texts"
/** The property, the bytes for its value, the value, and how many bytes it needs. */
const info = [uint, size, pointer, pointer] as const
/** The count of a list of events to wait for, the list, and the command's own event. */
const end = [uint, pointer, pointer] as const
/** Origins in the buffer and on the host, the region, row and slice pitches of both, and the data. */
const hostRect = [handle, handle, uint, pointer, pointer, pointer, size, size, size, size, pointer, ...end] as const
/** The origin, the region, row and slice pitch, and the data. */
const imageTransfer = [handle, handle, uint, pointer, pointer, size, size, pointer, ...end] as const

/** The functions by their OpenCL names; the standard says what their arguments mean. */
const functions = {
  clGetPlatformIDsAsync: async(uint, pointer, pointer),
  clGetPlatformInfo: call(handle, ...info),
  clGetDeviceIDs: call(handle, bitfield, uint, pointer, pointer),
  clGetDeviceInfo: call(handle, ...info),
  clCreateContext: create(pointer, uint, pointer, pointer, pointer),
  clRetainContext: call(handle),
  clReleaseContext: call(handle),
  clCreateCommandQueue: create(handle, handle, bitfield),
  clReleaseCommandQueue: call(handle),
  clCreateBuffer: create(handle, bitfield, size, pointer),
  /** The region is two size_t: origin and bytes. */
  clCreateSubBuffer: create(handle, bitfield, uint, pointer),
  clRetainMemObject: call(handle),
  clReleaseMemObject: call(handle),
  clGetMemObjectInfo: call(handle, ...info),
  clCreateProgramWithSource: create(handle, uint, texts, pointer),
  clBuildProgramAsync: async(handle, uint, pointer, text, pointer, pointer),
  clGetProgramBuildInfo: call(handle, handle, ...info),
  clReleaseProgram: call(handle),
  clCreateKernel: create(handle, text),
  clReleaseKernel: call(handle),
  clSetKernelArg: call(handle, uint, size, pointer),
  clGetKernelWorkGroupInfo: call(handle, handle, ...info),
  clGetKernelInfo: call(handle, ...info),
  /** The parameter by its index. */
  clGetKernelArgInfo: call(handle, uint, ...info),
  clEnqueueNDRangeKernel: call(handle, handle, uint, pointer, pointer, pointer, ...end),
  clEnqueueWriteBuffer: call(handle, handle, uint, size, size, pointer, ...end),
  clEnqueueReadBuffer: call(handle, handle, uint, size, size, pointer, ...end),
  clEnqueueCopyBuffer: call(handle, handle, handle, size, size, size, ...end),
  /** Origins and region are three size_t each; pitches are bytes. */
  clEnqueueWriteBufferRect: call(...hostRect),
  clEnqueueReadBufferRect: call(...hostRect),
  clEnqueueCopyBufferRect: call(handle, handle, handle, pointer, pointer, pointer, size, size, size, size, ...end),
  clEnqueueMapBuffer: create(handle, handle, uint, bitfield, size, size, ...end),
  clEnqueueUnmapMemObject: call(handle, handle, handle, ...end),
  clEnqueueFillBuffer: call(handle, handle, pointer, size, size, size, ...end),
  clEnqueueMigrateMemObjects: call(handle, uint, pointer, bitfield, ...end),
  /** Shared virtual memory came with OpenCL 2.0: where the loader is older, allocations are null and calls fail. */
  clSVMAlloc: address(handle, bitfield, size, uint),
  clSVMFree: returning("void")(handle, handle),
  clEnqueueSVMFree: call(handle, uint, pointer, pointer, pointer, ...end),
  clEnqueueSVMMap: call(handle, uint, bitfield, handle, size, ...end),
  clEnqueueSVMUnmap: call(handle, handle, ...end),
  /** For commands of a program's own. */
  clEnqueueSVMMemFill: call(handle, handle, pointer, size, size, ...end),
  /** For kernels of a program's own. */
  clSetKernelArgSVMPointer: call(handle, uint, handle),
  clEnqueueMarkerWithWaitList: call(handle, ...end),
  clGetCommandQueueInfo: call(handle, ...info),
  clRetainCommandQueue: call(handle),
  /** The format is a cl_image_format, the description a cl_image_desc. */
  clCreateImage: create(handle, bitfield, pointer, pointer, pointer),
  clGetSupportedImageFormats: call(handle, bitfield, uint, uint, pointer, pointer),
  clGetImageInfo: call(handle, ...info),
  /** Origins and regions of images are three size_t each, in elements. */
  clEnqueueWriteImage: call(...imageTransfer),
  clEnqueueReadImage: call(...imageTransfer),
  clEnqueueFillImage: call(handle, handle, pointer, pointer, pointer, ...end),
  /** The origin, the region, and where the row pitch and the slice pitch go. */
  clEnqueueMapImage: create(handle, handle, uint, bitfield, pointer, pointer, pointer, pointer, ...end),
  clEnqueueCopyImage: call(handle, handle, handle, pointer, pointer, pointer, ...end),
  clEnqueueCopyImageToBuffer: call(handle, handle, handle, pointer, pointer, size, ...end),
  clEnqueueCopyBufferToImage: call(handle, handle, handle, size, pointer, pointer, ...end),
  clCreateSampler: create(handle, uint, uint, uint),
  /** Of OpenCL 2.0. */
  clCreateSamplerWithProperties: create(handle, pointer),
  clGetSamplerInfo: call(handle, ...info),
  clRetainSampler: call(handle),
  clReleaseSampler: call(handle),
  clGetEventInfo: call(handle, ...info),
  /** Only for events that are complete: it would block the event loop on others. */
  clWaitForEvents: call(uint, pointer),
  clWaitForEventsAsync: async(uint, pointer),
  /** Of queues that were made with CL_QUEUE_PROFILING_ENABLE. */
  clGetEventProfilingInfo: call(handle, ...info),
  clReleaseEvent: call(handle),
  clFlush: call(handle)
}

type Functions = { readonly [N in keyof typeof functions]: Bound<typeof functions[N]> }

/**
 * The functions that this backend calls, by their OpenCL names. Arguments that this backend always leaves out
 * (callbacks and their data) are null. Functions ending in `Async` run on a thread of libuv's, which has four.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenClApi extends Functions {
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
  /**
   * The version of OpenCL whose functions the loader has: 1.1, 1.2 or 2. In place of newer functions it has some that return
   * or store CL_INVALID_OPERATION.
   */
  readonly loaderVersion: number
}

/**
 * The file names of the OpenCL loader on a platform, in the order in which they are tried.
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
    const given = LayerOptions.read(operation, loading, options)
    if (isGpuError(given)) return given
    const { koffi = importKoffi, library } = given
    return runtimeProblem() ?? Effect.flatMap(
      Effect.tryPromise({ try: koffi, catch: noPackage }),
      (koffi) => Effect.suspend(() => loadWith(koffi, library))
    )
  })

const loading = Schema.Struct({ library, koffi: LayerOptions.callback<() => Promise<Koffi>>() })

const loadWith = (koffi: Koffi, library: string | undefined): Effect.Effect<OpenClApi, GpuError> => {
  const tried: Array<Pick<ProbedDevice, "device" | "why">> = []
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

const bind = (library: Library, { view }: Koffi, asyncStackBytes: number): OpenClApi => {
  const bound: Record<string, unknown> = {}
  let loaderVersion = 2
  for (const [name, native] of Object.entries(functions)) {
    try {
      bound[name] = boundTo(library, name, native)
    } catch (cause) {
      const version = versionBefore(name)
      if (version === undefined) throw cause
      loaderVersion = Math.min(loaderVersion, version)
      bound[name] = (...args: ReadonlyArray<unknown>) => missing(native.result, args.at(-1))
    }
  }
  return { ...bound as Functions, view: (address, bytes) => view(address, bytes), asyncStackBytes, loaderVersion }
}

const boundTo = (library: Library, name: string, { args, result }: Native<Types, keyof Results>): unknown => {
  const types = args.map((argument) => nativeTypes[argument])
  return result === "async"
    ? library.func(name.slice(0, -"Async".length), "int32_t", types).async
    : library.func(name, result, types)
}

const functionsOf12: ReadonlySet<string> = new Set([
  "clCreateImage",
  "clEnqueueFillBuffer",
  "clEnqueueFillImage",
  "clEnqueueMarkerWithWaitList",
  "clEnqueueMigrateMemObjects",
  "clGetKernelArgInfo"
])

/** The version of a loader that lacks a function; `undefined` for a function that every loader has. */
const versionBefore = (name: string): number | undefined => {
  if (name.includes("SVM") || name.endsWith("WithProperties")) return 1.2
  return functionsOf12.has(name) ? 1.1 : undefined
}

/** What a function that an old loader lacks returns, or stores in its last argument. */
const missing = (result: keyof Results, code: unknown): number | null => {
  if (result === "int32_t") return OpenClCode.invalidOperation
  if (code instanceof Int32Array) code[0] = OpenClCode.invalidOperation
  return null
}
