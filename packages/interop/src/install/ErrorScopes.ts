/**
 * The error scopes that a program has pushed, for errors that the installation has to report: WebGPU has no call that does.
 *
 * @internal
 */
import type { DeviceError } from "./Native.ts"

interface ErrorScope {
  readonly filter: string
  /** Errors that the installation knows, or will: the first that there is counts. */
  readonly found: Array<Promise<object | null>>
}

export class ErrorScopes {
  readonly #device: object
  readonly #scopes: Array<ErrorScope> = []

  constructor(device: object) {
    this.#device = device
  }

  push(filter: string): void {
    this.#scopes.push({ filter, found: [] })
  }

  /** What the innermost scope has: the device's own error, or else the installation's. */
  pop(popped: Promise<DeviceError | null>): Promise<object | null> {
    const found = this.#scopes.pop()?.found ?? []
    return found.length === 0 ? popped : popped.then(async (error) => error ?? firstOf(found))
  }

  /** Reports an error for lack of memory, if there will be one, to the innermost scope for such errors. */
  follow(error: Promise<object | null>): void {
    for (let at = this.#scopes.length - 1; at >= 0; at--) {
      const scope = this.#scopes[at]!
      if (scope.filter === "out-of-memory") {
        scope.found.push(error)
        return
      }
    }
    void this.#dispatch(error)
  }

  async #dispatch(found: Promise<object | null>): Promise<void> {
    const error = await found
    if (error !== null && this.#device instanceof EventTarget) this.#device.dispatchEvent(uncaptured(error))
  }
}

const firstOf = async (found: ReadonlyArray<Promise<object | null>>): Promise<object | null> => {
  for (const one of found) {
    const error = await one
    if (error !== null) return error
  }
  return null
}

/** The event of the platform, where its class can be found: a page has it. */
const uncaptured = (error: object): Event => {
  const { GPUUncapturedErrorEvent } = globalThis as Classes
  return GPUUncapturedErrorEvent === undefined
    ? Object.assign(new Event("uncapturederror", { cancelable: true }), { error })
    : new GPUUncapturedErrorEvent("uncapturederror", { error, cancelable: true })
}

/** WebGPU's classes, which a page has, and Node if the program puts `globals` of npm `webgpu` there. */
interface Classes {
  readonly GPUOutOfMemoryError?: new(message: string) => DeviceError
  readonly GPUUncapturedErrorEvent?: new(
    type: string,
    init: { readonly error: object; readonly cancelable: boolean }
  ) => Event
}

/** What stands for a GPUOutOfMemoryError where its class cannot be found. */
class OutOfMemoryError implements DeviceError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}
Object.defineProperty(OutOfMemoryError, "name", { value: "GPUOutOfMemoryError" })

export const outOfMemory = (message: string): DeviceError =>
  new ((globalThis as Classes).GPUOutOfMemoryError ?? OutOfMemoryError)(message)
