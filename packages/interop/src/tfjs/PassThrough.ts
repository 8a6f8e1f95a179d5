/**
 * TensorFlow.js without its own pool of buffers.
 *
 * @since 0.1.0
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { type Method, replace } from "../foreign/Patch.ts"
import type { PoolableDevice } from "../foreign/PoolableDevice.ts"

/**
 * What manages the buffers of a backend, of TensorFlow.js 4: as long as its backend lives it destroys none, but keeps each for the next
 * of exactly its size.
 */
interface BufferManager {
  readonly freeBuffers: Map<string, Array<Buffer>>
  readonly usedBuffers: Map<string, Array<Buffer>>
  numFreeBuffers: number
  numBytesAllocated: number
}

interface Buffer {
  readonly size: number
  destroy(): void
}

/**
 * A backend of TensorFlow.js that gives buffers back. `passThrough` makes one.
 *
 * @category models
 * @since 0.1.0
 */
export class PassThrough {
  /** The device of the backend, which `install` and `observe` take. */
  readonly device: PoolableDevice
  readonly #manager: BufferManager
  readonly #ends: Array<() => void>

  /** @internal */
  constructor(device: PoolableDevice, manager: BufferManager) {
    this.device = device
    this.#manager = manager
    destroyFree(manager)
    this.#ends = [
      replace(
        manager,
        "acquireBuffer",
        (inner) => (size, usage, mappedAtCreation) =>
          Reflect.apply(inner, manager, [size, usage, mappedAtCreation, false])
      ),
      replace(manager, "releaseBuffer", (inner) => releasing(inner, manager))
    ]
  }

  /** @internal */
  get isOn(): boolean {
    return this.#ends.length > 0
  }

  /** Gives the backend its own pool back, which then keeps what the program disposes of. What the backend has stays as it is. */
  stop(): void {
    if (!this.isOn) return
    for (const end of this.#ends.splice(0)) end()
    // The manager looks here for the place of a buffer that it takes back.
    for (const key of this.#manager.usedBuffers.keys()) addKey(this.#manager, key)
  }

  /** As `stop`. */
  [Symbol.dispose](): void {
    this.stop()
  }
}

/** Those that nobody uses; no command that is still to be submitted uses them either. */
const destroyFree = (manager: BufferManager): void => {
  for (const buffers of manager.freeBuffers.values()) {
    for (const buffer of buffers.splice(0)) {
      manager.numFreeBuffers--
      manager.numBytesAllocated -= buffer.size
      buffer.destroy()
    }
  }
}

const addKey = ({ freeBuffers }: BufferManager, key: string): void => {
  if (!freeBuffers.has(key)) freeBuffers.set(key, [])
}

const releasing = (inner: Method, manager: BufferManager): Method => (buffer) => {
  // Without any key the manager takes itself for disposed of, and leaves the buffer alone.
  const [key] = manager.freeBuffers.size > 0 ? [] : manager.usedBuffers.keys()
  if (key !== undefined) addKey(manager, key)
  return Reflect.apply(inner, manager, [buffer, false])
}

/** By their managers. */
const passing = new WeakMap<object, PassThrough>()

const isManager = (manager: Partial<Record<string, unknown>> | undefined): boolean =>
  manager?.freeBuffers instanceof Map && manager.usedBuffers instanceof Map &&
  typeof manager.numFreeBuffers === "number" && typeof manager.numBytesAllocated === "number" &&
  typeof manager.acquireBuffer === "function" && typeof manager.releaseBuffer === "function"

/**
 * Lets the WebGPU backend of TensorFlow.js destroy the buffers of disposed tensors, instead of keeping all of them for tensors of the same
 * size. So the memory of a program whose sizes vary no longer grows, and a pool that `install` puts under the device has them.
 *
 * **Details**
 *
 * It takes `tf.backend()` after `await tf.setBackend("webgpu")`. Buffers that the backend keeps for later are destroyed at once. What
 * `tf.memory()` counts stays right. Textures, which the backend needs for videos and canvases, are kept as before.
 *
 * Throws a `TypeError` for what has no buffers of WebGPU that it knows, as another backend, and an `Error` for a backend that passes
 * through already.
 *
 * **Gotchas**
 *
 * Without a pool under the device each tensor is a buffer that the driver makes, which takes longer.
 *
 * **Example** (TensorFlow.js on a pool)
 *
 * ```ts no-run
 * import { install } from "@effect-gpu-pool/interop/install"
 * import { passThrough } from "@effect-gpu-pool/interop/tfjs"
 * import * as tf from "@tensorflow/tfjs-core"
 *
 * await tf.setBackend("webgpu")
 * const tensors = passThrough(tf.backend())
 * const pool = install(tensors.device, { maxBytes: 1 << 30 })
 * // ... compute, and dispose of tensors as ever
 * console.log(pool.stats())
 * tensors.stop()
 * pool.stop()
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const passThrough = (backend: object): PassThrough => {
  const { bufferManager, device } = backend as {
    readonly bufferManager?: Partial<Record<string, unknown>>
    readonly device?: PoolableDevice
  }
  if (bufferManager === undefined || device === undefined || !isManager(bufferManager)) {
    throw new TypeError(
      `passThrough: the backend has no buffers of WebGPU that can be given back. Pass tf.backend() after await ` +
        `tf.setBackend("webgpu"), of version 4 of TensorFlow.js.`
    )
  }
  if (passing.get(bufferManager)?.isOn === true) {
    throw new Error("passThrough: the backend passes through already. Use that one, or stop() it first.")
  }
  const passed = new PassThrough(device, bufferManager as unknown as BufferManager)
  passing.set(bufferManager, passed)
  return passed
}
