/**
 * A GPUDevice of Dawn's null backend that other code has opened. It records the library's calls; the other code has
 * buffers and a handler of its own.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { WebGpu } from "../../src/webgpu.ts"
import { type Bends, type Watched, watchedGpu } from "./watchedGpu.ts"

export interface SharedDevice {
  readonly watched: Watched
  /** As the other code has it. */
  readonly theirs: GPUDevice
  /** As the library gets it. */
  readonly given: Parameters<typeof WebGpu.layerFromDevice>[0]
  /** What the library did that a guest must not do. */
  readonly offences: ReadonlyArray<string>
  /** The error messages that the other code's handler received. */
  readonly uncaptured: ReadonlyArray<string>
  /** Buffers and textures that the library has made and not destroyed. */
  readonly undestroyed: ReadonlySet<object>
  /** The number of listeners on the promise `GPUDevice.lost`. */
  readonly lossListeners: () => number
}

const forbidden = new Set([
  "destroy",
  "onuncapturederror",
  "addEventListener",
  "removeEventListener",
  "dispatchEvent",
  "label"
])

/** Methods that raise no device error. */
const unscoped = new Set(["pushErrorScope", "popErrorScope", "onSubmittedWorkDone"])

const scopes = 3

class Guard {
  readonly offences: Array<string> = []
  readonly undestroyed = new Set<object>()
  lossListeners = 0
  #depth = 0

  device(device: GPUDevice): GPUDevice {
    const queue = this.#guarded(device.queue, "GPUQueue", {})
    const lost = new Proxy(device.lost, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (property === "then") this.lossListeners += 1
        return typeof value === "function" ? value.bind(target) : value
      }
    })
    return this.#guarded(device, "GPUDevice", { queue, lost })
  }

  #guarded<A extends object>(target: A, name: string, own: Readonly<Record<string, unknown>>): A {
    return new Proxy(target, {
      get: (_, property) => {
        const member = String(property)
        if (forbidden.has(member)) this.offences.push(`${name}.${member}`)
        if (member in own) return own[member]
        const value: unknown = Reflect.get(target, property, target)
        return typeof value !== "function" ? value : (...args: ReadonlyArray<unknown>) => {
          this.#note(name, member)
          return this.#made(Reflect.apply(value, target, args))
        }
      },
      set: (_, property) => {
        this.offences.push(`${name}.${String(property)} =`)
        return true
      }
    })
  }

  #note(name: string, member: string): void {
    if (member === "pushErrorScope" && this.#depth++ === 0) {
      queueMicrotask(() => {
        if (this.#depth !== 0) this.offences.push("scopes that are open at the end of a step")
      })
    } else if (member === "popErrorScope") this.#depth -= 1
    else if (!unscoped.has(member)) this.#check(`${name}.${member}`)
  }

  #check(call: string): void {
    if (this.#depth !== scopes) this.offences.push(`${call} in ${this.#depth} scopes`)
  }

  /** Watches the methods of a created object by replacing them, since Dawn accepts no proxies. */
  #made(made: unknown): unknown {
    if (made instanceof Promise || typeof made !== "object" || made === null) return made
    const name = Object.getPrototypeOf(made).constructor.name as string
    for (const member of ["mapAsync", "createView"]) {
      this.#replace(made, member, () => this.#check(`${name}.${member}`))
    }
    if (this.#replace(made, "destroy", () => this.undestroyed.delete(made))) this.undestroyed.add(made)
    return made
  }

  #replace(made: object, member: string, before: () => void): boolean {
    const value: unknown = Reflect.get(made, member)
    if (typeof value !== "function") return false
    Object.defineProperty(made, member, {
      value: (...args: ReadonlyArray<unknown>) => {
        before()
        return Reflect.apply(value, made, args)
      }
    })
    return true
  }
}

/** Destroyed with the scope, as the other code would. */
export const sharedDevice = (
  bends: Bends = {},
  descriptor: GPUDeviceDescriptor = {}
): Effect.Effect<SharedDevice, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const watched = watchedGpu(bends)
      const adapter = await watched.gpu.requestAdapter()
      const theirs = await adapter!.requestDevice(descriptor)
      const uncaptured: Array<string> = []
      theirs.onuncapturederror = (event) => {
        event.preventDefault()
        uncaptured.push(event.error.message)
      }
      const guard = new Guard()
      const given = guard.device(theirs)
      const { offences, undestroyed } = guard
      return { watched, theirs, given, offences, uncaptured, undestroyed, lossListeners: () => guard.lossListeners }
    }),
    ({ theirs }) => Effect.sync(() => theirs.destroy())
  )
