/**
 * Whether a device can run a well-formed kernel: element types, limits. Checked once, before a backend compiles.
 *
 * @since 0.1.0
 */
import { line } from "../arguments/Format.ts"
import * as DType from "../data/DType.ts"
import * as ValueType from "../data/ValueType.ts"
import type { DeviceInfo, ImageLimits } from "../device/DeviceInfo.ts"
import { type GpuError, limitExceeded, unsupported } from "../GpuError.ts"
import { bitsOf } from "../language/Operation.ts"
import { check, fixed, type Kernel } from "./Kernel.ts"
import { isNumeric, type KernelArgument } from "./KernelArgument.ts"
import * as Workgroup from "./Workgroup.ts"
import { workgroupProblem } from "./WorkgroupProblem.ts"

const operationOf = (kernel: Kernel): string => `KernelCache.get, kernel "${kernel.name}"`

/**
 * The kernel as it was at its first use; or an error, if the value is no kernel or the device cannot run it.
 *
 * @category functions
 * @since 0.1.0
 */
export const checked = (given: Kernel, info: DeviceInfo): Kernel | GpuError => {
  const kernel = fixed(given)
  return check(kernel) ?? workgroupProblem(kernel) ?? problem(kernel, info) ?? kernel
}

/**
 * Why the device cannot run the kernel, apart from its body: Unsupported, LimitExceeded, or `undefined`.
 *
 * @category functions
 * @since 0.1.0
 */
export const problem = (kernel: Kernel, info: DeviceInfo): GpuError | undefined =>
  dtypeProblem(kernel, info) ??
    limitProblem(kernel, info, info.limits, "maxVectorArguments", vectorsOf(kernel), "vectors") ??
    groupsProblem(kernel, info) ??
    limitProblem(kernel, info, info.limits, "maxWorkgroupSize", itemsOfGroup(kernel), "items") ??
    imagesProblem(kernel, info)

const itemsOfGroup = ({ workgroupSize }: Kernel): number => Workgroup.itemsOf(Workgroup.extentsOf(workgroupSize))

/** Local memory begins at multiples of this, as WebGPU counts it. */
const localAlignment = 16

const localBytesOf = ({ args }: Kernel): number =>
  args.reduce((sum, argument) => {
    if (argument._tag !== "LocalArg") return sum
    return sum + Math.ceil(argument.length * DType.byteSize(argument.dtype) / localAlignment) * localAlignment
  }, 0)

/** Whether the device runs kernels that are written for workgroups, of that size and with that much memory. */
const groupsProblem = (kernel: Kernel, info: DeviceInfo): GpuError | undefined => {
  if (kernel.form === undefined) return undefined
  const { backend, limits: { groups }, name } = info
  if (groups === undefined) {
    const hint = "Write it for single items, by Kernel.make, or use a device that has limits.groups."
    return unsupported(operationOf(kernel), backend, `kernels that are written for workgroups on ${name}`, hint)
  }
  const extents = Workgroup.extentsOf(kernel.workgroupSize)
  for (const [dimension, limitName] of ["x", "y", "z"].entries()) {
    const limit = groups.maxWorkgroupExtents[dimension]!
    if (extents[dimension]! <= limit) continue
    return limitExceeded({
      operation: operationOf(kernel),
      requested: extents[dimension]!,
      limitName: `maxWorkgroupExtents.${limitName}`,
      limit,
      unit: "items",
      owner: { kind: "device", name }
    })
  }
  return limitProblem(kernel, info, groups, "maxLocalBytes", localBytesOf(kernel), "bytes")
}

const dtypeProblem = (kernel: Kernel, info: DeviceInfo): GpuError | undefined => {
  const operation = operationOf(kernel)
  for (const argument of kernel.args) {
    if (!isNumeric(argument) && argument._tag !== "LocalArg") continue
    const { element, length } = ValueType.partsOf(argument.dtype)
    // Every language can take these by value, whatever elements the device has.
    if (argument._tag === "ScalarArg" && (bitsOf(element) % 64 !== 0 || element === "bool")) continue
    const user = `argument "${argument.name}"${length === 1 ? "" : `, a ${argument.dtype}`}`
    const problem = typeProblem(operation, info, element, user)
    if (problem !== undefined) return problem
  }
  for (const dtype of kernel.dtypes) {
    const problem = typeProblem(operation, info, dtype, "in its body")
    if (problem !== undefined) return problem
  }
  return undefined
}

/**
 * Unsupported where the device lacks an element type, else `undefined`. `user` is what has elements of that type.
 *
 * @category functions
 * @since 0.1.0
 */
export const typeProblem = (
  operation: string,
  info: DeviceInfo,
  dtype: DType.DType,
  user: string
): GpuError | undefined =>
  info.dtypes.has(dtype) ? undefined : unsupported(
    operation,
    info.backend,
    `${line(dtype)} (${user}) on ${info.name}`,
    info.missingDTypes?.get(dtype) ?? `Use one of ${[...info.dtypes].join(", ")}${where(dtype)}.`
  )

/** The end of a hint: what a kernel with an optional element type needs. */
const where = (dtype: DType.DType): string => {
  if (dtype === "f16" && !DType.hostSupports("f16")) {
    return ": f16 needs a JavaScript runtime with Float16Array and Math.f16round, as Node 24, on every backend"
  }
  return ", or a device that has it"
}

const vectorsOf = ({ args }: Kernel): number => args.filter(({ _tag }) => _tag === "VectorArg").length

const limitProblem = <Name extends string>(
  kernel: Kernel,
  { name }: DeviceInfo,
  limits: { readonly [L in Name]: number },
  limitName: Name,
  requested: number,
  unit: string
): GpuError | undefined =>
  requested <= limits[limitName] ? undefined : limitExceeded({
    operation: operationOf(kernel),
    requested,
    limitName,
    limit: limits[limitName],
    unit,
    owner: { kind: "device", name }
  })

const imageUses: { readonly [L in keyof ImageLimits]: (argument: KernelArgument) => boolean } = {
  maxReadImages: (argument) => argument._tag === "ImageArg" && argument.access === "read",
  maxWriteImages: (argument) => argument._tag === "ImageArg" && argument.access === "write",
  maxSamplers: ({ _tag }) => _tag === "SamplerArg"
}

/** How many images and samplers it takes; a device may have none at all. */
const imagesProblem = (kernel: Kernel, info: DeviceInfo): GpuError | undefined => {
  if (kernel.args.every((argument) => isNumeric(argument) || argument._tag === "LocalArg")) return undefined
  const { backend, limits: { images }, name } = info
  if (images === undefined) {
    const hint = "Use buffers, or a device that has images."
    return unsupported(operationOf(kernel), backend, `images in kernels on ${name}`, hint)
  }
  for (const limitName of Object.keys(imageUses) as Array<keyof ImageLimits>) {
    const requested = kernel.args.filter(imageUses[limitName]).length
    const unit = limitName === "maxSamplers" ? "samplers" : "images"
    const problem = limitProblem(kernel, info, images, limitName, requested, unit)
    if (problem !== undefined) return problem
  }
  return undefined
}
