/** What the libraries find in a page: the classes of WebGPU, and a GPU. */
import { create, globals } from "webgpu"

/** The GPU is Dawn's null backend: it needs no driver, and runs no commands. */
export const provideGpu = () => {
  const gpu = create(["backend=null"])
  Object.assign(globalThis, globals)
  Object.defineProperty(globalThis.navigator, "gpu", { value: gpu, configurable: true })
  return gpu
}
