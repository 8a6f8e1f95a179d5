/**
 * A device for the library's own backend, under an installation: its methods are those that the device has without this package, but for
 * those of its queue that send commands and bytes.
 *
 * @internal
 */
import type { WebGpuApi } from "effect-gpu-pool/webgpu"
import { innerOf, type Method } from "../foreign/Patch.ts"
import { create, type Created, type Creates } from "../install/Memory.ts"
import type { BufferDescriptor } from "../install/Native.ts"

type Methods = Record<string, unknown>

export class NativeDevice {
  readonly api: Omit<WebGpuApi.Device, "destroy" | "onuncapturederror">
  /** Whether the pool frees a buffer in this step. */
  isFreeing = false
  #isCreating = false
  #created: Created | undefined = undefined

  constructor(device: { readonly queue: object }) {
    const methods = without(device)
    // It has what a device has: its properties are taken from one.
    const api = methods as unknown as NativeDevice["api"]
    const native: Creates = {
      createBuffer: methods["createBuffer"] as Creates["createBuffer"],
      pushErrorScope: (filter) => api.pushErrorScope(filter),
      popErrorScope: () => api.popErrorScope()
    }
    methods["createBuffer"] = (descriptor: BufferDescriptor) =>
      this.#isCreating ? (this.#created = create(native, descriptor)).buffer : native.createBuffer(descriptor)
    const queue = without(device.queue)
    // A program may use buffers of libraries, of which these two know the zeros and the ends.
    for (const name of ["submit", "writeBuffer"] as const) {
      queue[name] = (...args: ReadonlyArray<unknown>) =>
        Reflect.apply(Reflect.get(device.queue, name) as Method, device.queue, args)
    }
    Object.defineProperty(methods, "queue", { value: queue, enumerable: true })
    this.api = api
  }

  /** Runs a request of other code, for whose buffer the driver's error is that code's. */
  creating<A>(request: () => A): { readonly answer: A; readonly created: Created | undefined } {
    this.#isCreating = true
    this.#created = undefined
    try {
      const answer = request()
      return { answer, created: this.#created }
    } finally {
      this.#isCreating = false
    }
  }
}

/** An object with the properties of another one, and with its methods as they are without this package. */
const without = (object: object): Methods => {
  const view: Methods = {}
  for (const name of namesOf(object)) {
    const value: unknown = Reflect.get(object, name)
    if (typeof value === "function") {
      const method = innerOf(object, name)
      view[name] = (...args: ReadonlyArray<unknown>) => Reflect.apply(method, object, args)
    } else {
      Object.defineProperty(view, name, { get: () => Reflect.get(object, name), enumerable: true, configurable: true })
    }
  }
  return view
}

const namesOf = (object: object): ReadonlySet<string> => {
  const names = new Set<string>()
  for (let one: object = object; one !== Object.prototype && one !== null; one = Object.getPrototypeOf(one) as object) {
    for (const name of Object.getOwnPropertyNames(one)) if (name !== "constructor") names.add(name)
  }
  return names
}
