/**
 * Image data in typed arrays of the host.
 *
 * @since 0.1.0
 */
import type * as DType from "../data/DType.ts"

/**
 * The typed array whose items are those of a format: an item per channel, or per element where channels are packed.
 * Halves are a `Float16Array` where the runtime has one, else a `Uint16Array` of their bits.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageArray =
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | DType.Float16Elements
