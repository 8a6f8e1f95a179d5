/**
 * The compiler of a WebGPU device, as the cache takes it. Its code is loaded with the first kernel, together with what
 * the queue needs to dispatch that.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { KernelCompiler } from "../../../services/device/KernelCache.ts"
import { later } from "../LazyPart.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import type { WebGpuKernel } from "./WebGpuKernel.ts"

export const compiler = (opened: OpenDevice): KernelCompiler<WebGpuKernel> => ({
  writer: Effect.suspend(() => later.use(({ wgsl }) => Effect.succeed(wgsl))),
  compile: (kernel, source) => later.use(({ compile }) => compile(kernel, source, opened)),
  release: () => opened.driverObjects.remove("kernel")
})
