/**
 * Puts a pool under a device.
 *
 * @since 0.1.0
 */
import * as GpuError from "effect-gpu-pool/GpuError"
import { Installation, type PoolableDevice } from "./Installation.ts"
import { type InstallOptions, settingsOf } from "./Options.ts"

/** Those that have not been stopped. */
const installed = new WeakMap<object, Installation>()

const operation = "install"

/**
 * Puts a pool under a WebGPU device: whatever library uses it, a buffer that one destroys serves the next that asks for its usage and
 * about its size. Programs see what WebGPU promises them: zeros, sizes, mapping, errors.
 *
 * **Details**
 *
 * Buffers of which copies can be the target are pooled, except those that are mapped at creation or to be written, and those that
 * queries are resolved into: these go to the device, and count for `maxBytes`. Textures are not pooled.
 *
 * Throws a `GpuError` with reason `InvalidRequest` for options that are none, and for a device that has a pool installed.
 *
 * **Gotchas**
 *
 * A reused buffer is the same object, since an implementation takes only its own. What a program does with one after its `destroy()` is
 * refused where WebGPU refuses it, also by commands and bind groups that were made before; but when the object has become a buffer of
 * other code already, a direct call such as `queue.writeBuffer`, or a second `destroy()`, acts on that buffer.
 *
 * **Example** (Pooling what other libraries allocate)
 *
 * ```ts no-run
 * import { install } from "@effect-gpu-pool/interop/install"
 *
 * declare const device: GPUDevice
 * declare const infer: (device: GPUDevice) => Promise<void>
 *
 * const installation = install(device, { maxBytes: 1 << 30, track: true })
 * await infer(device)
 * const { hits, misses, heldBytes } = installation.stats()
 * console.log(hits, misses, heldBytes, installation.holders())
 * installation.stop()
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const install = (device: PoolableDevice, options: InstallOptions = {}): Installation => {
  const settings = settingsOf(operation, options)
  if (installed.get(device)?.isInstalled === true) {
    throw GpuError.invalidRequest(operation, "the device has a pool installed", "Use that one, or stop() it first.")
  }
  const installation = new Installation(device, settings)
  installed.set(device, installation)
  return installation
}
