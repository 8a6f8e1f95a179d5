/**
 * Whether a device can run a well-formed kernel: a body in its language, element types, limits. Checked once, before a
 * backend compiles.
 *
 * @internal
 */
import type { DeviceInfo } from "./DeviceInfo.ts"
import * as DType from "./DType.ts"
import { type GpuError, LimitExceeded, make as makeError, Unsupported } from "./GpuError.ts"
import type { Kernel } from "./Kernel.ts"

type Bodies = Kernel["body"]

const languages: { readonly [L in keyof Bodies]: string } = { wgsl: "WGSL", opencl: "OpenCL", host: "host" }

const operationOf = (kernel: Kernel): string => `KernelCache.get, kernel "${kernel.name}"`

/**
 * Why the device cannot run the kernel, apart from its body: Unsupported, LimitExceeded, or `undefined`.
 *
 * @internal
 */
export const problem = (kernel: Kernel, info: DeviceInfo): GpuError | undefined =>
  dtypeProblem(kernel, info) ??
    limitProblem(kernel, info, "maxVectorArguments", kernel.args.filter(({ _tag }) => _tag === "VectorArg").length) ??
    limitProblem(kernel, info, "maxWorkgroupSize", kernel.workgroupSize)

/**
 * The kernel's body in a backend's language, or Unsupported.
 *
 * @internal
 */
export const bodyOf = <L extends keyof Bodies>(
  kernel: Kernel,
  language: L,
  backend: DeviceInfo["backend"]
): NonNullable<Bodies[L]> | GpuError =>
  kernel.body[language] ?? makeError(
    new Unsupported({
      operation: operationOf(kernel),
      backend,
      feature: `a kernel without a ${languages[language]} body`,
      hint: `Give the kernel a body.${language}, or run it on a backend that it has a body for.`
    })
  )

const dtypeProblem = (kernel: Kernel, info: DeviceInfo): GpuError | undefined => {
  const operation = operationOf(kernel)
  for (const { dtype, name } of kernel.args) {
    const problem = typeProblem(operation, info, dtype, `argument "${name}"`)
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
 * @internal
 */
export const typeProblem = (
  operation: string,
  info: DeviceInfo,
  dtype: DType.DType,
  user: string
): GpuError | undefined =>
  info.dtypes.has(dtype) ? undefined : makeError(
    new Unsupported({
      operation,
      backend: info.backend,
      feature: `${dtype} (${user}) on ${info.name}`,
      hint: `Use one of ${[...info.dtypes].join(", ")}${where(dtype)}.`
    })
  )

/** What has the types that not every device has. */
const where = (dtype: DType.DType): string => {
  switch (dtype) {
    case "f64":
      return ": for f64 OpenCL needs cl_khr_fp64, and WGSL has none"
    case "f16":
      return DType.hostSupports("f16")
        ? ": for f16 WebGPU needs the feature shader-f16, and OpenCL cl_khr_fp16"
        : ": f16 needs a JavaScript runtime with Float16Array and Math.f16round, as Node 24, on every backend"
    default:
      return ""
  }
}

const limitProblem = (
  kernel: Kernel,
  { limits }: DeviceInfo,
  limitName: "maxVectorArguments" | "maxWorkgroupSize",
  requested: number
): GpuError | undefined =>
  requested <= limits[limitName] ? undefined : makeError(
    new LimitExceeded({ operation: operationOf(kernel), requested, limitName, limit: limits[limitName] })
  )
