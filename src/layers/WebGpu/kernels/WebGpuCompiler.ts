/**
 * The compiler of a WebGPU device, as the cache takes it. What it does is loaded with the first kernel, which then brings what
 * the queue needs to dispatch it.
 *
 * @internal
 */
import type { KernelCompiler } from "../../../services/device/KernelCache.ts"
import { later } from "../LaterPart.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type { WebGpuKernel } from "./WebGpuKernel.ts"

export const compiler = (opened: OpenDevice): KernelCompiler<WebGpuKernel> => ({
  key: ({ args, body, dtypes, name, preamble, workgroupSize }) =>
    JSON.stringify([name, args, body.wgsl, preamble.wgsl, workgroupSize, dtypes]),
  compile: (kernel) => later.use(({ compile }) => compile(kernel, opened)),
  release: () => opened.driverObjects.remove("kernel")
})
