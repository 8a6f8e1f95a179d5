/**
 * Begins to watch devices.
 *
 * @since 0.1.0
 */
import { Observation, type ObserveOptions } from "./Observation.ts"
import type { Target } from "./Targets.ts"

/**
 * Watches the buffers and textures of a device, of the devices of an adapter or of `navigator.gpu`, or of all devices of a page. Nothing
 * that the program does changes: the methods that make and destroy them call what they called before, and tell the observation.
 *
 * **Details**
 *
 * The target is a GPUDevice; a GPUAdapter, whose `requestDevice` it hears; `navigator.gpu`, whose `requestAdapter` it hears; or an object
 * with the class `GPUDevice`, as `globalThis` of a page, for every device that exists or will. Objects that were made before are not known.
 * It keeps no object alive. An object for which the device reports an error, such as out of memory, counts until it is destroyed, as
 * WebGPU tells that later, and to the error scope of the program.
 *
 * **Example** (Who holds the memory)
 *
 * ```ts no-run
 * import { observe } from "@effect-gpu-pool/interop/observe"
 *
 * declare const device: GPUDevice
 * declare const frame: () => Promise<void>
 *
 * const observation = observe(device)
 * await frame()
 * const before = observation.moment()
 * await frame()
 * console.log(observation.table({ madeAfter: before }))
 * observation.stop()
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const observe = (target: Target, options?: ObserveOptions): Observation => new Observation(target, options)
