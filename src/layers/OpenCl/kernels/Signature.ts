/**
 * Whether the parameters of a source of the program's own are those that the library will pass. A driver takes a number
 * for an address where the source declares a pointer, and ends the process.
 *
 * @internal
 */
import * as DType from "../../../domain/data/DType.ts"
import { type GpuError, invalidRequest, limitExceeded, unsupported } from "../../../domain/GpuError.ts"
import type { Kernel } from "../../../domain/kernel/Kernel.ts"
import type { KernelArgument, LocalArg } from "../../../domain/kernel/KernelArgument.ts"
import { extentsOf, format } from "../../../domain/kernel/Workgroup.ts"
import * as InfoQuery from "../InfoQuery.ts"
import { isPocl, isVersion12 } from "../opening/OpenClDevices.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import * as OpenClSource from "./OpenClSource.ts"

const CL_KERNEL_NUM_ARGS = 0x1191
const CL_KERNEL_COMPILE_WORK_GROUP_SIZE = 0x11b1
const CL_KERNEL_LOCAL_MEM_SIZE = 0x11b2
const CL_KERNEL_ARG_TYPE_CONST = 1

const parameterProperties = {
  address: [0x1196, InfoQuery.uint],
  access: [0x1197, InfoQuery.uint],
  type: [0x1198, InfoQuery.text],
  qualifiers: [0x1199, InfoQuery.long],
  name: [0x119a, InfoQuery.text]
} as const satisfies InfoQuery.Properties

type Declared = InfoQuery.Facts<typeof parameterProperties>

/** CL_KERNEL_ARG_ADDRESS_*, as OpenCL C has them. */
const addresses = { global: 0x119b, local: 0x119c, constant: 0x119d, private: 0x119e } as const

/** CL_KERNEL_ARG_ACCESS_*. */
const accesses = { read: 0x11a0, write: 0x11a1 } as const

/** Options with which the compiler keeps what it knows of parameters. */
export const buildOptions = ({ buildOptions }: Kernel, { device }: OpenDevice): string =>
  isVersion12(device) ? `${buildOptions} -cl-kernel-arg-info`.trim() : buildOptions

/** Why the library cannot pass the kernel's arguments, or `undefined`. */
export const problem = (kernel: Kernel, handle: bigint, device: OpenDevice): GpuError | undefined =>
  countProblem(kernel, handle, device) ?? parametersProblem(kernel, handle, device) ??
    groupProblem(kernel, handle, device) ?? memoryProblem(kernel, handle, device)

const operationOf = ({ name }: Kernel): string => `KernelCache.get, kernel "${name}"`

/** The program has no kernel of that name, and its driver says no more. */
export const noEntryPoint = (kernel: Kernel): GpuError =>
  invalidRequest(
    operationOf(kernel),
    `its OpenCL C has no __kernel function of the name "${kernel.name}"`,
    "Name the kernel as the function is named in all its sources."
  )

const countProblem = (kernel: Kernel, handle: bigint, { api }: OpenDevice): GpuError | undefined => {
  const declared = InfoQuery.uint(api.clGetKernelInfo, handle, CL_KERNEL_NUM_ARGS)
  const { length } = kernel.args
  return declared === length ? undefined : invalidRequest(
    operationOf(kernel),
    `its arguments are ${length}, and the parameters in its OpenCL C ${declared ?? "of an unknown number"}`,
    "Declare a parameter for each argument, in their order."
  )
}

const parametersProblem = (kernel: Kernel, handle: bigint, device: OpenDevice): GpuError | undefined => {
  for (const [index, argument] of kernel.args.entries()) {
    const query: InfoQuery.Query = (kernel, ...args) => device.api.clGetKernelArgInfo(kernel, index, ...args)
    const declared = InfoQuery.all(parameterProperties, query, handle)
    if (declared.address === undefined) return unknown(kernel, device)
    const wanted = wantedOf(argument, isPocl(device.platform))
    if (wanted.fits(declared)) continue
    return invalidRequest(
      operationOf(kernel),
      `its parameter ${index + 1}${declared.name === "" ? "" : `, "${declared.name}"`}, a ${
        shown(declared)
      }, does not fit the argument "${argument.name}"`,
      `Declare it as ${wanted.text}, or change the list of arguments.`
    )
  }
  return undefined
}

const unknown = (kernel: Kernel, { device: { name } }: OpenDevice): GpuError =>
  unsupported(
    operationOf(kernel),
    "opencl",
    `a source of the program's own on ${name}, whose driver does not say what parameters a kernel has`,
    "Use a GroupKernel, or a device that has CL_KERNEL_ARG_INFO, as most from OpenCL 1.2 on."
  )

const shown = (declared: Declared): string => {
  const { access, address, type } = declared
  const [mode] = Object.entries(accesses).find(([, code]) => code === access) ?? []
  if (mode !== undefined) return `${mode}_only ${type}`
  const [space = "private"] = Object.entries(addresses).find(([, code]) => code === address) ?? []
  return `${space === "private" ? "" : `__${space} `}${isConst(declared) ? "const " : ""}${type}`
}

interface Wanted {
  readonly fits: (declared: Declared) => boolean
  /** As one declares it. */
  readonly text: string
}

const isConst = ({ qualifiers }: Declared): boolean => ((qualifiers ?? 0) & CL_KERNEL_ARG_TYPE_CONST) !== 0

/** What a parameter must be: pointers to any type, since elements can be read as short vectors. */
const wantedOf = (argument: KernelArgument, isPocl: boolean): Wanted => {
  const { name } = argument
  switch (argument._tag) {
    case "VectorArg": {
      const { access } = argument
      const isPointer = ({ type }: Declared): boolean => type.endsWith("*")
      return access === "read"
        ? {
          fits: (declared) =>
            isPointer(declared) &&
            (declared.address === addresses.constant || (declared.address === addresses.global && isConst(declared))),
          text: `__global const ${OpenClSource.elementType(argument.dtype)} *${name}`
        }
        : {
          fits: (declared) => isPointer(declared) && declared.address === addresses.global,
          text: `__global ${OpenClSource.elementType(argument.dtype)} *${name}`
        }
    }
    case "LocalArg":
      return {
        fits: ({ address }) => address === addresses.local,
        text: `__local ${OpenClSource.types[argument.dtype]} *${name}`
      }
    case "ScalarArg": {
      const type = OpenClSource.scalarType(argument)
      return {
        fits: (declared) => declared.address === addresses.private && plain(declared.type) === type,
        text: `${type} ${name}`
      }
    }
    case "ImageArg": {
      const type = OpenClSource.imageType(argument.kind, isPocl)
      return {
        fits: (declared) => declared.type === type && declared.access === accesses[argument.access],
        text: `${argument.access}_only ${type} ${name}`
      }
    }
    case "SamplerArg":
      return { fits: ({ type }) => type === "sampler_t", text: `sampler_t ${name}` }
  }
}

/** Compilers write a type as the source does. */
const spellings: ReadonlyMap<string, string> = new Map([
  ["unsigned char", "uchar"],
  ["unsigned short", "ushort"],
  ["unsigned int", "uint"],
  ["unsigned", "uint"],
  ["unsigned long", "ulong"],
  ["uint32_t", "uint"],
  ["int32_t", "int"]
])

const plain = (type: string): string => spellings.get(type) ?? type

/** A source can demand a size of workgroups. */
const groupProblem = (kernel: Kernel, handle: bigint, { api, device }: OpenDevice): GpuError | undefined => {
  const query: InfoQuery.Query = (kernel, ...args) => api.clGetKernelWorkGroupInfo(kernel, device.id, ...args)
  const [x = 0, y = 0, z = 0] = (InfoQuery.words(query, handle, CL_KERNEL_COMPILE_WORK_GROUP_SIZE) ?? []).map(Number)
  const wanted = extentsOf(kernel.workgroupSize)
  return x === 0 || [x, y, z].every((extent, dimension) => extent === wanted[dimension]) ? undefined : invalidRequest(
    operationOf(kernel),
    `its workgroupSize is ${format(wanted)}, and reqd_work_group_size in its OpenCL C is ${format([x, y, z])}`,
    "Write the same in both."
  )
}

/** Local memory that the source declares by itself, besides that of the arguments. */
const memoryProblem = (kernel: Kernel, handle: bigint, { api, device }: OpenDevice): GpuError | undefined => {
  const query: InfoQuery.Query = (kernel, ...args) => api.clGetKernelWorkGroupInfo(kernel, device.id, ...args)
  const declared = InfoQuery.long(query, handle, CL_KERNEL_LOCAL_MEM_SIZE) ?? 0
  const passed = kernel.args.filter((argument): argument is LocalArg => argument._tag === "LocalArg")
  const bytes = passed.reduce((sum, { dtype, length }) => sum + length * DType.byteSize(dtype), declared)
  return bytes <= device.localMemoryBytes ? undefined : limitExceeded({
    operation: operationOf(kernel),
    requested: bytes,
    limitName: "maxLocalBytes",
    limit: device.localMemoryBytes,
    owner: { kind: "device", name: device.name }
  })
}
