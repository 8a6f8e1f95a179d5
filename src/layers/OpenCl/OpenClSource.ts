/**
 * OpenCL C source around a kernel's body.
 *
 * @internal
 */
import type { DType } from "../../domain/DType.ts"
import type { Kernel } from "../../domain/Kernel.ts"
import type { KernelArgument } from "../../domain/KernelArgument.ts"

const types: { readonly [D in DType]: string } = { f32: "float", i32: "int", u32: "uint", f64: "double" }

/**
 * The name of the function in the source. OpenCL C has hundreds of built-in functions, `distance` and `max` among them,
 * that a kernel's own name could clash with; no argument can have a name with two underscores.
 *
 * @internal
 */
export const entryPoint = (kernel: Kernel): string => `${kernel.name}__kernel`

/**
 * Whether any argument is a double, which is an extension in OpenCL C.
 *
 * @internal
 */
export const usesDouble = (kernel: Kernel): boolean => kernel.args.some((argument) => argument.dtype === "f64")

const parameters = (argument: KernelArgument): ReadonlyArray<string> => {
  const type = types[argument.dtype]
  if (argument._tag === "ScalarArg") return [`const ${type} ${argument.name}`]
  return [
    `__global ${argument.access === "read" ? "const " : ""}${type} *${argument.name}`,
    `const uint ${argument.name}_length`,
    ...(argument.withOffset ? [`const uint ${argument.name}_offset`] : [])
  ]
}

/**
 * The whole source of a kernel: one work item per item, guarded because the global size is rounded up to whole
 * workgroups. The guard compares before the index is narrowed, so rounding past 2^32 cannot wrap to item 0.
 *
 * @internal
 */
export const source = (kernel: Kernel, options: {
  /** The body in OpenCL C. */
  readonly body: string
  /** Makes the workgroup size part of the program; without it the driver takes any. */
  readonly workgroupSize: number | undefined
}): string =>
  [
    ...(usesDouble(kernel) ? ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] : []),
    ...(kernel.preamble.opencl === "" ? [] : [kernel.preamble.opencl]),
    ...(options.workgroupSize === undefined
      ? ["__kernel"]
      : [`__kernel __attribute__((reqd_work_group_size(${options.workgroupSize}, 1, 1)))`]),
    `void ${entryPoint(kernel)}(${[...kernel.args.flatMap(parameters), "const uint count"].join(", ")}) {`,
    "  if (get_global_id(0) >= count) return;",
    "  const uint i = (uint) get_global_id(0);",
    "  {",
    options.body,
    "  }",
    "}",
    ""
  ].join("\n")
