/**
 * Dawn through npm `webgpu`, which only Node loads. Only this file imports that package, in a way that bundlers do not resolve, so that a
 * bundle for browsers needs no Node module. It imports nothing that the rest of a page has too: bundlers would cut that into a file of its
 * own.
 *
 * @internal
 */
import type * as WebGpuHandle from "../WebGpuHandle.ts"

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

/** Its GPU object for some flags. */
export const gpuFor = async (flags: ReadonlyArray<string>): Promise<WebGpuHandle.Gpu> => {
  const key = JSON.stringify(flags)
  const { create } = await importDawn()
  const gpu = instances.get(key) ?? create([...flags])
  instances.set(key, gpu)
  return gpu
}

const importDawn = (): Promise<DawnModule> =>
  import(/* @vite-ignore */ /* webpackIgnore: true */ packageName) as Promise<DawnModule>
