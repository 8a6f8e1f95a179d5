/** What libraries find in a page: the classes of WebGPU, and a GPU, which is Dawn with this machine's driver. */
import { create, globals } from "webgpu"

/** The GPU is kept with the process: Dawn crashes when it is collected before its devices. */
export const provide = (): GPU => {
  const gpu = create([])
  Object.assign(globalThis, globals)
  Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true })
  return gpu
}
