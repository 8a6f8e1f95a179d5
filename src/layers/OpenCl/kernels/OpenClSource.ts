/**
 * OpenCL C source around a kernel's body.
 *
 * @internal
 */
import type { DType } from "../../../domain/data/DType.ts"
import * as ValueType from "../../../domain/data/ValueType.ts"
import type { ImageKind } from "../../../domain/images/ImageShape.ts"
import type { Kernel } from "../../../domain/kernel/Kernel.ts"
import { isNumeric, type KernelArgument, type LocalArg, type ScalarArg } from "../../../domain/kernel/KernelArgument.ts"
import type { Extents } from "../../../domain/kernel/Workgroup.ts"

/** The types of elements, as memory has them: OpenCL C has no `bool` there. */
export const types: { readonly [D in DType]: string } = {
  f32: "float",
  f16: "half",
  f64: "double",
  i8: "char",
  u8: "uchar",
  i16: "short",
  u16: "ushort",
  i32: "int",
  u32: "uint",
  i64: "long",
  u64: "ulong",
  c64: "float2",
  bool: "uchar"
}

/** The type of a vector's elements: of three numbers too, which OpenCL C keeps 4 numbers apart. */
export const elementType = (type: ValueType.VectorElement): string => {
  const { element, length } = ValueType.partsOf(type)
  return `${types[element]}${length === 1 ? "" : length}`
}

/**
 * The name of the function in the source. OpenCL C has hundreds of built-in functions, `distance` and `max` among them,
 * that a kernel's own name could clash with; no argument can have a name with two underscores.
 */
export const entryPoint = ({ form, name }: Kernel): string => form === "source" ? name : `${name}__kernel`

/** The type of an image in a signature. */
export const imageType = (kind: ImageKind, rowsForBuffers: boolean): string =>
  imageTypes[rowsForBuffers && kind === "1dBuffer" ? "1d" : kind]

const imageTypes: { readonly [K in ImageKind]: string } = {
  "1d": "image1d_t",
  "1dArray": "image1d_array_t",
  "1dBuffer": "image1d_buffer_t",
  "2d": "image2d_t",
  "2dArray": "image2d_array_t",
  "3d": "image3d_t"
}

/** The extensions by which OpenCL C has an element type. */
export const extensions: ReadonlyArray<readonly [DType, string]> = [["f16", "cl_khr_fp16"], ["f64", "cl_khr_fp64"]]

/** Kernels write 3-D images by an extension, on any version of OpenCL C. */
export const volumeWrites = "cl_khr_3d_image_writes"

/** Whether a kernel writes 3-D images. */
export const writesVolumes = ({ args }: Kernel): boolean =>
  args.some((argument) => argument._tag === "ImageArg" && argument.access === "write" && argument.kind === "3d")

/** Halves, doubles and writing 3-D images are extensions in OpenCL C. */
const pragmas = (kernel: Kernel): ReadonlyArray<string> => {
  const { args, dtypes } = kernel
  const uses = (type: DType): boolean =>
    dtypes.includes(type) ||
    args.some((argument) =>
      (isNumeric(argument) || argument._tag === "LocalArg") && ValueType.partsOf(argument.dtype).element === type
    )
  const used = extensions.flatMap(([type, extension]) => uses(type) ? [extension] : [])
  return [...used, ...(writesVolumes(kernel) ? [volumeWrites] : [])].map((extension) =>
    `#pragma OPENCL EXTENSION ${extension} : enable`
  )
}

/** Kernels cannot take a half by value everywhere, and no bool: they come as a float and a uchar, and are narrowed. */
const isNarrowed = ({ dtype }: ScalarArg): boolean => dtype === "bool" || ValueType.partsOf(dtype).element === "f16"

/** The type of a scalar in a signature. */
export const scalarType = (argument: ScalarArg): string => {
  const { element } = ValueType.partsOf(argument.dtype)
  return typeOf(element === "f16" ? "f32" : element, argument)
}

/** `float3`, or `float`. */
const typeOf = (element: DType, { dtype }: ScalarArg): string => {
  const { length } = ValueType.partsOf(dtype)
  return `${types[element]}${length === 1 ? "" : length}`
}

const narrowing = (argument: ScalarArg): string => {
  if (argument.dtype === "bool") return `  const bool ${argument.name} = ${wideName(argument)} != 0;`
  const type = typeOf("f16", argument)
  const wide = wideName(argument)
  return `  const ${type} ${argument.name} = ${type === "half" ? `(half) ${wide}` : `convert_${type}(${wide})`};`
}

const wideName = ({ name }: ScalarArg): string => `${name}__wide`

const parameters = (argument: KernelArgument, rowsForBuffers: boolean): ReadonlyArray<string> => {
  if (argument._tag === "ImageArg") {
    const { access, kind, name } = argument
    return [`__${access}_only ${imageType(kind, rowsForBuffers)} ${name}`]
  }
  if (argument._tag === "SamplerArg") return [`sampler_t ${argument.name}`]
  if (argument._tag === "LocalArg") return []
  if (argument._tag === "ScalarArg") {
    return [`const ${scalarType(argument)} ${isNarrowed(argument) ? wideName(argument) : argument.name}`]
  }
  const type = elementType(argument.dtype)
  return [
    `__global ${argument.access === "read" ? "const " : ""}${type} *${argument.name}`,
    `const uint ${argument.name}_length`,
    ...(argument.withOffset ? [`const uint ${argument.name}_offset`] : [])
  ]
}

interface SourceOptions {
  /** The body in OpenCL C. */
  readonly body: string
  /** Declarations before the kernel. */
  readonly preamble: string
  /** Makes the workgroup size part of the program; without it the driver takes any. */
  readonly workgroupSize: Extents | undefined
  /** Declares images over buffers as 1-D images, for a driver that takes either kind. */
  readonly rowsForBuffers?: boolean | undefined
}

/**
 * The whole source of a kernel: one work item per item, guarded because the global size is rounded up to whole
 * workgroups. The guard compares before the index is narrowed, so rounding past 2^32 cannot wrap to item 0.
 */
export const source = (kernel: Kernel, options: SourceOptions): string => {
  if (kernel.form === "source") return options.body
  const declared = kernel.args.flatMap((argument) => parameters(argument, options.rowsForBuffers === true))
  const size = kernel.form === "groups" ? "const uint3 range" : "const uint count"
  return declaring([...declared, size].join(", "), kernel, options)
}

/**
 * The source without its parameters, of which there may be thousands: compilers parse one after the other, and nothing nests
 * in them, which commas alone do not tell.
 */
export const withoutParameters = (kernel: Kernel, options: SourceOptions): string =>
  kernel.form === "source" ? options.body : declaring("", kernel, options)

const ofItem: ReadonlyArray<string> = [
  "  if (get_global_id(0) >= count) return;",
  "  const uint i = (uint) get_global_id(0);"
]

const threeOf = (call: string): string => `(uint3)(${[0, 1, 2].map((d) => `(uint) ${call}(${d})`).join(", ")})`

/** Without a guard, since a barrier needs all items of the group. */
const ofGroup = ({ args }: Kernel, size: Extents | undefined): ReadonlyArray<string> => {
  const local = args.filter((argument): argument is LocalArg => argument._tag === "LocalArg")
  return [
    ...local.map(({ dtype, length, name }) => `  __local ${types[dtype]} ${name}[${length}];`),
    `  const uint3 global_id = ${threeOf("get_global_id")};`,
    `  const uint3 local_id = ${threeOf("get_local_id")};`,
    `  const uint3 group_id = ${threeOf("get_group_id")};`,
    `  const uint3 group_count = ${threeOf("get_num_groups")};`,
    `  const uint3 group_size = ${size === undefined ? threeOf("get_local_size") : `(uint3)(${size.join(", ")})`};`,
    "  const uint local_index = (local_id.z * group_size.y + local_id.y) * group_size.x + local_id.x;"
  ]
}

const declaring = (declared: string, kernel: Kernel, options: SourceOptions): string =>
  [
    ...pragmas(kernel),
    ...(options.preamble === "" ? [] : [options.preamble]),
    ...(options.workgroupSize === undefined
      ? ["__kernel"]
      : [`__kernel __attribute__((reqd_work_group_size(${options.workgroupSize.join(", ")})))`]),
    `void ${entryPoint(kernel)}(${declared}) {`,
    ...(kernel.form === "groups" ? ofGroup(kernel, options.workgroupSize) : ofItem),
    ...kernel.args.filter((argument) => argument._tag === "ScalarArg").filter(isNarrowed).map(narrowing),
    "  {",
    options.body,
    "  }",
    "}",
    ""
  ].join("\n")
