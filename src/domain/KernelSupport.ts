/**
 * Whether a device can run a well-formed kernel: a body in its language, element types, limits. Checked once, before a
 * backend compiles.
 *
 * @internal
 */
import type { DeviceInfo } from "./DeviceInfo.ts"
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
  const argument = kernel.args.find(({ dtype }) => !info.dtypes.has(dtype))
  return argument === undefined ? undefined : makeError(
    new Unsupported({
      operation: operationOf(kernel),
      backend: info.backend,
      feature: `${argument.dtype} (argument "${argument.name}") on ${info.name}`,
      hint: `Use one of ${[...info.dtypes].join(", ")}: for f64 OpenCL needs cl_khr_fp64, and WGSL has none.`
    })
  )
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
