/**
 * Dawn's null backend behind a layer that counts and bends calls: it needs no graphics driver, validates everything and
 * runs nothing, so it shows the WebGPU backend's calls, and lets a test make a chosen call fail or lose the device.
 */
import { create } from "webgpu"

export interface Watched {
  readonly gpu: GPU
  /** Calls by name, as `GPUDevice.createBuffer`. */
  readonly calls: Map<string, number>
  readonly count: (name: string) => number
}

/** Replaces a call by name; `proceed` makes the real one. */
export type Bends = Readonly<Record<string, (proceed: () => unknown, ...args: ReadonlyArray<unknown>) => unknown>>

/** Dawn crashes when this object is collected while anything made from it is in use. */
const dawn = create(["backend=null"])

const classes = new Set([
  "GPU",
  "GPUAdapter",
  "GPUDevice",
  "GPUQueue",
  "GPUCommandEncoder",
  "GPUComputePassEncoder"
])

export const watchedGpu = (bends: Bends = {}): Watched => {
  const calls = new Map<string, number>()
  const wrap = (target: object): object => {
    const className = Object.getPrototypeOf(target).constructor.name as string
    return new Proxy(target, {
      get: (_, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (typeof value !== "function") return watch(value)
        const name = `${className}.${String(property)}`
        return (...args: ReadonlyArray<unknown>) => {
          calls.set(name, (calls.get(name) ?? 0) + 1)
          const proceed = (): unknown => Reflect.apply(value, target, args)
          const result = bends[name] === undefined ? proceed() : bends[name](proceed, ...args)
          return result instanceof Promise ? result.then(watch) : watch(result)
        }
      },
      set: (_, property, value) => Reflect.set(target, property, value, target)
    })
  }
  const watch = (value: unknown): unknown =>
    typeof value === "object" && value !== null && classes.has(Object.getPrototypeOf(value)?.constructor?.name)
      ? wrap(value)
      : value
  return { gpu: wrap(dawn) as GPU, calls, count: (name) => calls.get(name) ?? 0 }
}
