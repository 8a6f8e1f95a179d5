/**
 * Classes that say how bytes are read, as programs pass them: `Float32Array` and its like.
 *
 * @since 0.1.0
 */
/**
 * A typed array class, such as `Float32Array`, that says how bytes are read.
 *
 * @category models
 * @since 0.1.0
 */
export interface ElementType<A extends ArrayBufferView> {
  readonly BYTES_PER_ELEMENT: number
  readonly name: string
  new(buffer: ArrayBuffer): A
}

/**
 * A typed array class, as `hostArray` takes it: one that can begin anywhere in an ArrayBuffer.
 *
 * @category models
 * @since 0.1.0
 */
export interface ViewType<A extends ArrayBufferView> extends ElementType<A> {
  new(buffer: ArrayBuffer, byteOffset?: number, length?: number): A
}
