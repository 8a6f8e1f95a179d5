/**
 * The GPU object of this process: the browser's or Deno's own, or Dawn, which is loaded only where there is none.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { messageOf } from "../../../domain/arguments/Format.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import * as LazyModule from "../../../services/calls/LazyModule.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { unavailable } from "./NoDevice.ts"
import { currentRuntime } from "./Runtime.ts"

const dawn = LazyModule.module("layers/WebGpu/opening/Dawn", () => import("./Dawn.ts"))

/** The GPU object of the browser, or of Deno, when there is one. */
export const browserGpu = (): WebGpuHandle.Gpu | undefined =>
  typeof navigator === "undefined" ? undefined : (navigator as { readonly gpu?: WebGpuHandle.Gpu }).gpu

/** Loads npm `webgpu` and creates its GPU object. */
const nodeGpu = (flags: ReadonlyArray<string>): Effect.Effect<WebGpuHandle.Gpu, GpuError> =>
  dawn.use(({ gpuFor }) =>
    Effect.tryPromise({ try: () => gpuFor(flags), catch: (cause) => ({ cause }) }).pipe(
      Effect.catch(({ cause }) => unavailable(({ noPackage }) => noPackage(messageOf(cause))))
    )
  )

/** The GPU object for programs that pass none. */
export const processGpu = (flags: ReadonlyArray<string>): Effect.Effect<WebGpuHandle.Gpu, GpuError> =>
  Effect.suspend(() => {
    const own = browserGpu()
    return own === undefined && currentRuntime().isNode ? nodeGpu(flags) : givenGpu(own)
  })

/** The GPU object of a page, which may have none. */
export const givenGpu = (gpu: WebGpuApi.Gpu | undefined): Effect.Effect<WebGpuHandle.Gpu, GpuError> =>
  gpu === undefined
    ? unavailable(({ noNavigatorGpu }, runtime) => noNavigatorGpu(runtime))
    : Effect.succeed(gpu as WebGpuHandle.Gpu)
