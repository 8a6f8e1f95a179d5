/**
 * Data of the host program on its way to a device. Drivers crash on memory of the wrong kind, so it is checked here.
 *
 * @since 0.1.0
 */
import { formatted } from "../arguments/Format.ts"
import { GpuError, invalidRequest } from "../GpuError.ts"

/**
 * Data that `CommandQueue.write` takes: an ArrayBuffer, or a typed array or DataView over one.
 *
 * **Example** (A function that uploads whatever it is given)
 *
 * ```ts
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { Effect } from "effect"
 *
 * const upload = (data: CommandQueue.HostData) =>
 *   Effect.tap(BufferPool.allocate(data.byteLength), (lease) => CommandQueue.write(lease, data))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type HostData = ArrayBuffer | ArrayBufferView

/**
 * Whether the memory was transferred elsewhere. `detached` came with ES2024, later than the library's target.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isDetached = (buffer: ArrayBuffer): boolean =>
  (buffer as { readonly detached?: boolean }).detached === true

/**
 * The bytes of `data`, without a copy; InvalidRequest for shared or detached memory, or something else altogether.
 *
 * @category functions
 * @since 0.1.0
 */
export const bytes = (
  operation: string,
  data: HostData,
  name: string = "data"
): Uint8Array<ArrayBuffer> | GpuError => {
  const view:
    | { readonly buffer: ArrayBufferLike; readonly byteOffset: number; readonly byteLength: number }
    | undefined = ArrayBuffer.isView(data)
      ? data
      : data instanceof ArrayBuffer
      ? { buffer: data, byteOffset: 0, byteLength: data.byteLength }
      : undefined
  if (view === undefined || !(view.buffer instanceof ArrayBuffer)) {
    const shared = typeof SharedArrayBuffer !== "undefined" &&
      (data as unknown instanceof SharedArrayBuffer || view?.buffer instanceof SharedArrayBuffer)
    return invalidRequest(
      operation,
      shared ? `the ${name} is over a SharedArrayBuffer` : `${formatted(data)} was given for the ${name}`,
      shared
        ? "Pass a typed array over an ordinary ArrayBuffer, as slice() gives it."
        : "Pass a typed array, as Float32Array.of(1, 2) or Float32Array.from(values), or an ArrayBuffer."
    )
  }
  if (isDetached(view.buffer)) {
    return invalidRequest(
      operation,
      `the ${name}'s ArrayBuffer is detached`,
      "Use it before it is transferred elsewhere. A mapped array has its memory until the mapping ends, and a staged array while no " +
        "upload or download uses it: take its data anew."
    )
  }
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

/**
 * Zeroed host memory of that many bytes, or `undefined` when the process has none left, for which V8 throws a
 * RangeError.
 *
 * @category functions
 * @since 0.1.0
 */
export const allocate = (bytes: number): ArrayBuffer | undefined => {
  try {
    return new ArrayBuffer(bytes)
  } catch (cause) {
    if (cause instanceof RangeError) return undefined
    throw cause
  }
}

/**
 * Copies `source` into `target`; InvalidRequest when the target is shared, detached, or of another length.
 *
 * @category getters
 * @since 0.1.0
 */
export const copyInto = (operation: string, source: ArrayBuffer, target: HostData): GpuError | undefined => {
  const view = bytes(operation, target)
  if (view instanceof GpuError) return view
  if (view.byteLength !== source.byteLength) {
    return invalidRequest(
      operation,
      `the target has ${view.byteLength} bytes, ${source.byteLength} were read`,
      "Do not resize or transfer the target while the read is under way."
    )
  }
  view.set(new Uint8Array(source))
  return undefined
}
