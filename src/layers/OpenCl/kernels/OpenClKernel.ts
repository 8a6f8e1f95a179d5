/**
 * Kernels compiled by an OpenCL device, and their arguments.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { type GpuError, limitExceeded, unsupported } from "../../../domain/GpuError.ts"
import type { Kernel, KernelSource } from "../../../domain/kernel/Kernel.ts"
import * as Workgroup from "../../../domain/kernel/Workgroup.ts"
import { CompiledKernel, type KernelCompiler } from "../../../services/device/KernelCache.ts"
import * as InfoQuery from "../InfoQuery.ts"
import { openClC } from "../language/OpenClC.ts"
import { inRuns } from "../language/OpenClRuns.ts"
import * as OpenClCode from "../OpenClCode.ts"
import { onDevice } from "../OpenClError.ts"
import { isPocl } from "../opening/OpenClDevices.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import * as CompilerStack from "./CompilerStack.ts"
import { KernelParameters } from "./KernelParameters.ts"
import * as OpenClSource from "./OpenClSource.ts"
import * as Signature from "./Signature.ts"

const CL_INVALID_KERNEL_NAME = -46
const CL_PROGRAM_BUILD_LOG = 0x1183
const CL_KERNEL_WORK_GROUP_SIZE = 0x11b0

export class OpenClKernel extends CompiledKernel {
  /** The cl_kernel. */
  readonly handle: bigint
  readonly parameters: KernelParameters
  /**
   * Work items of one group: those of the kernel, unless its items are independent and the device can run this program
   * only in smaller groups.
   */
  readonly localSize: Workgroup.Extents

  constructor(kernel: Kernel, handle: bigint, localSize: Workgroup.Extents) {
    super(kernel)
    this.handle = handle
    this.parameters = new KernelParameters(kernel)
    this.localSize = localSize
  }
}

export const compiler = (device: OpenDevice): KernelCompiler<OpenClKernel> => {
  // A build occupies one of libuv's few threads for 100 ms and more, so one runs at a time.
  const builds = Semaphore.makeUnsafe(1)
  return {
    writer: Effect.succeed(openClC),
    compile: (kernel, written) => {
      const gains = isPocl(device.platform) && device.device.type === "cpu" && kernel.form === undefined
      const source = gains ? inRuns(written) : written
      return builds.withPermit(Effect.suspend(() => compile(kernel, source, device)))
    },
    release: (compiled) => releaseKernel(device, compiled)
  }
}

const releaseKernel = ({ api, driverObjects }: OpenDevice, kernel: OpenClKernel): void => {
  if (api.clReleaseKernel(kernel.handle) === OpenClCode.success) driverObjects.remove("kernel")
}

const compile = (
  kernel: Kernel,
  written: KernelSource,
  device: OpenDevice
): Effect.Effect<OpenClKernel, GpuError> => {
  if (device.status.error !== undefined) return device.status.error
  const { body, preamble } = written
  // PoCL 3.1 lacks `get_image_width` of an `image1d_buffer_t`, and ends the process when a kernel calls it; an `image1d_t`
  // takes the same images there.
  const options = { body: String(body), preamble, rowsForBuffers: isPocl(device.platform) }
  const workgroupSize = Workgroup.extentsOf(kernel.workgroupSize)
  const beyond = parameterProblem(kernel, device) ?? volumeProblem(kernel, device) ??
    CompilerStack.problem(
      kernel.name,
      OpenClSource.withoutParameters(kernel, { ...options, workgroupSize }),
      device.api.asyncStackBytes
    )
  if (beyond !== undefined) return beyond
  const inGroupsOf = (workgroupSize: Workgroup.Extents | undefined) =>
    build(kernel, OpenClSource.source(kernel, { ...options, workgroupSize }), device)
  return Effect.flatMap(inGroupsOf(workgroupSize), (compiled) => {
    const mismatch = kernel.form === "source" ? Signature.problem(kernel, compiled.handle, device) : undefined
    if (mismatch !== undefined) {
      releaseKernel(device, compiled)
      return mismatch
    }
    const most = largestGroup(compiled.handle, device)
    const items = Workgroup.itemsOf(workgroupSize)
    if (items <= most) return Effect.succeed(compiled)
    if (kernel.form !== undefined) {
      releaseKernel(device, compiled)
      return groupProblem(kernel, items, most, device)
    }
    // The program needs more resources than a group of that size may have. Items are independent, so a smaller group
    // works too.
    releaseKernel(device, compiled)
    return inGroupsOf(undefined)
  })
}

/** The error of too many parameters, with which drivers fail in the compiler or only at a dispatch. */
const parameterProblem = (
  kernel: Kernel,
  { device: { maxParameterBytes, name } }: OpenDevice
): GpuError | undefined => {
  const { bytes } = new KernelParameters(kernel)
  // A driver that does not report it returns 0.
  return bytes <= maxParameterBytes || maxParameterBytes === 0 ? undefined : limitExceeded({
    operation: `KernelCache.get, kernel "${kernel.name}"`,
    requested: bytes,
    limitName: "maxParameterBytes",
    limit: maxParameterBytes,
    owner: { kind: "device", name }
  })
}

/** The error of a program of which the device runs only smaller groups than its barriers are written for. */
const groupProblem = (kernel: Kernel, items: number, limit: number, { device: { name } }: OpenDevice): GpuError =>
  limitExceeded({
    operation: `KernelCache.get, kernel "${kernel.name}"`,
    requested: items,
    limitName: "CL_KERNEL_WORK_GROUP_SIZE",
    limit,
    unit: "items",
    owner: { kind: "device", name }
  })

const volumeProblem = (kernel: Kernel, { device: { extensions, name } }: OpenDevice): GpuError | undefined =>
  !OpenClSource.writesVolumes(kernel) || extensions.includes(OpenClSource.volumeWrites)
    ? undefined
    : unsupported(
      `KernelCache.get, kernel "${kernel.name}"`,
      "opencl",
      `writing 3-D images in kernels (${OpenClSource.volumeWrites}) on ${name}`,
      "Write a buffer and copy it to the image, or write an image for each slice."
    )

/** The kernel keeps its program alive, so the library releases the program at once, whatever the outcome. */
const build = (kernel: Kernel, source: string, device: OpenDevice): Effect.Effect<OpenClKernel, GpuError> =>
  Effect.acquireUseRelease(
    Effect.suspend(() => {
      const code = new Int32Array(new ArrayBuffer(4))
      const program = device.api.clCreateProgramWithSource(device.context, 1, [source], null, code)
      if (program === null) return onDevice(device.status, { call: "clCreateProgramWithSource", code: code[0]! })
      device.driverObjects.add("program")
      return Effect.succeed(program)
    }),
    (program) => Effect.andThen(buildProgram(program, kernel, source, device), createKernel(program, kernel, device)),
    (program) =>
      Effect.sync(() => {
        if (device.api.clReleaseProgram(program) === OpenClCode.success) device.driverObjects.remove("program")
      })
  )

/** Uninterruptible: a program must not be released while a thread still builds it. */
const buildProgram = (
  program: bigint,
  kernel: Kernel,
  source: string,
  device: OpenDevice
): Effect.Effect<void, GpuError> =>
  Effect.uninterruptible(Effect.callback((resume) => {
    // A context of the program's may have other devices as well.
    const options = kernel.form === "source" ? Signature.buildOptions(kernel, device) : kernel.buildOptions
    device.api.clBuildProgramAsync(program, 1, device.list, options, null, null, (_, code) => {
      resume(
        code === OpenClCode.success ? Effect.void : onDevice(device.status, {
          call: "clBuildProgram",
          code,
          log: buildLog(program, device) || `the compiler said nothing; its options were "${kernel.buildOptions}"`,
          source,
          commands: [`kernel ${kernel.name}`]
        })
      )
    })
  }))

const createKernel = (program: bigint, kernel: Kernel, device: OpenDevice): Effect.Effect<OpenClKernel, GpuError> =>
  Effect.suspend(() => {
    const { api, driverObjects, status } = device
    const code = new Int32Array(new ArrayBuffer(4))
    const handle = api.clCreateKernel(program, OpenClSource.entryPoint(kernel), code)
    if (handle === null) {
      if (kernel.form === "source" && code[0] === CL_INVALID_KERNEL_NAME) return Signature.noEntryPoint(kernel)
      return onDevice(status, { call: "clCreateKernel", code: code[0]!, commands: [`kernel ${kernel.name}`] })
    }
    driverObjects.add("kernel")
    const [x, y, z] = Workgroup.extentsOf(kernel.workgroupSize)
    const width = kernel.form === undefined ? Math.min(x, largestGroup(handle, device)) : x
    return Effect.succeed(new OpenClKernel(kernel, handle, [width, y, z]))
  })

const buildLog = (program: bigint, { api, device }: OpenDevice): string => {
  const query: InfoQuery.Query = (...args) => api.clGetProgramBuildInfo(program, ...args)
  return new TextDecoder().decode(InfoQuery.bytes(query, device.id, CL_PROGRAM_BUILD_LOG)).replaceAll("\0", "").trim()
}

/** How many work items a group of this kernel may have; a driver that does not say sets no limit of its own. */
const largestGroup = (handle: bigint, { api, device }: OpenDevice): number => {
  const query: InfoQuery.Query = (...args) => api.clGetKernelWorkGroupInfo(handle, ...args)
  return InfoQuery.long(query, device.id, CL_KERNEL_WORK_GROUP_SIZE) || Infinity
}
