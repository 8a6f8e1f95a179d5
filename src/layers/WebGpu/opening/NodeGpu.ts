/**
 * The GPU object of this process: the browser's or Deno's own, or Dawn through npm `webgpu`. Only this file names that
 * package, in a way that bundlers do not resolve, so that a bundle for browsers needs no Node module.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { messageOf } from "../../../domain/arguments/Format.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import type * as WebGpuApi from "../WebGpuApi.ts"
import type * as WebGpuHandle from "../WebGpuHandle.ts"
import { unavailable } from "./NoDevice.ts"
import { currentRuntime } from "./Runtime.ts"

interface DawnModule {
  readonly create: (flags: Array<string>) => WebGpuHandle.Gpu
}

/** Typed as a string, so that neither the compiler nor a bundler resolves it. */
const packageName: string = "webgpu"

/**
 * Dawn crashes the process when the object that create() returned is collected while anything made from it is still
 * used, even after the device was destroyed. So each one is kept for good, and shared by layers with the same flags.
 */
const instances = new Map<string, WebGpuHandle.Gpu>()

/** The GPU object of the browser, or of Deno, when there is one. */
export const browserGpu = (): WebGpuHandle.Gpu | undefined =>
  typeof navigator === "undefined" ? undefined : (navigator as { readonly gpu?: WebGpuHandle.Gpu }).gpu

/** Loads npm `webgpu` and creates its GPU object. */
const nodeGpu = (flags: ReadonlyArray<string>): Effect.Effect<WebGpuHandle.Gpu, GpuError> =>
  Effect.suspend(() => {
    const key = JSON.stringify(flags)
    const known = instances.get(key)
    return known !== undefined ? Effect.succeed(known) : Effect.tryPromise({
      try: async () => {
        const { create } = await importDawn()
        const gpu = instances.get(key) ?? create([...flags])
        instances.set(key, gpu)
        return gpu
      },
      catch: (cause) => ({ cause })
    }).pipe(Effect.catch(({ cause }) => unavailable(({ noPackage }) => noPackage(messageOf(cause)))))
  })

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

const importDawn = (): Promise<DawnModule> =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ packageName) as Promise<DawnModule>
