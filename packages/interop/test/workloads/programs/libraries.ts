/** Libraries as random programs use them. Some of their sizes are the same in bytes, so that they get each other's memory. */
import type { Library } from "./Program.ts"

export type LibraryName = "TypeGPU" | "three.js" | "jax-js"

const lengths = [16, 300, 310, 4096] as const

const valuesOf = (size: number, value: number): Array<number> =>
  Array.from({ length: lengths[size % lengths.length]! }, (_, at) => (at * value) % 1000)

/** A library is loaded when it is asked for, since one of them opens its device then. */
export const openLibrary: Readonly<Record<LibraryName, (device: GPUDevice) => Promise<Library>>> = {
  "TypeGPU": async (device) => {
    const { squaresOn } = await import("../typegpu.ts")
    const squaresOf = squaresOn(device)
    return { make: (size, value) => squaresOf(valuesOf(size, value)) }
  },
  "three.js": async (device) => {
    const { Stage } = await import("../three.ts")
    const stage = await Stage.open(device)
    return {
      make: (size, value) => ({ end: stage.add(16 + 8 * size, value), read: () => stage.draw() })
    }
  },
  "jax-js": async () => {
    const { defaultDevice, init, numpy } = await import("@jax-js/jax")
    await init("webgpu")
    defaultDevice("webgpu")
    return {
      make: (size, value) => {
        const x = numpy.array(Float32Array.from(valuesOf(size, value)))
        return {
          read: () => numpy.add(numpy.square(x.ref), x.ref).data(),
          end: () => x.dispose()
        }
      }
    }
  }
}
