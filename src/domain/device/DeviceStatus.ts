/**
 * Whether a device is alive or lost. A lost device reports nothing to its memory, so every owner of memory subscribes
 * here.
 *
 * @since 0.1.0
 */
import { inOneLine, showing } from "../arguments/Showing.ts"
import { DeviceLost, type GpuError, make } from "../GpuError.ts"

/**
 * The state of one device: alive, or lost with the error that says why. Synchronous, so that hot paths can read it.
 *
 * **Example** (Listening for the loss of a device)
 *
 * ```ts
 * import { DeviceStatus } from "effect-gpu-pool/backend"
 *
 * const status = new DeviceStatus.DeviceStatus("mine")
 * const losses: Array<string> = []
 * status.onLost((error) => losses.push(error.reason._tag))
 * status.lose("unplugged")
 * losses // => ["DeviceLost"]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class DeviceStatus {
  /** The backend whose device it is. @internal */
  readonly backend: string
  readonly #listeners = new Set<(error: GpuError) => void>()
  #error: GpuError | undefined

  constructor(backend: string) {
    this.backend = backend
  }

  /** The DeviceLost error once the device is lost. */
  get error(): GpuError | undefined {
    return this.#error
  }

  /** Marks the device as lost and calls every listener, once. */
  lose(detail: string): GpuError {
    return this.#error ?? this.end(make(new DeviceLost({ backend: this.backend, detail })))
  }

  /** The same with another error, for a queue that ends before its device. @internal */
  end(error: GpuError): GpuError {
    if (this.#error !== undefined) return this.#error
    this.#error = error
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener(error)
    return error
  }

  /**
   * Calls `listener` when the device is lost, at once if it already is. Returns a function that removes the listener.
   */
  onLost(listener: (error: GpuError) => void): () => void {
    if (this.#error !== undefined) {
      listener(this.#error)
      return () => {}
    }
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}

showing<DeviceStatus>(
  ({ backend, error }) => inOneLine("DeviceStatus", undefined, [backend, error === undefined ? "alive" : "lost"])
)(DeviceStatus.prototype)
