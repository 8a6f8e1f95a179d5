/**
 * Classes that say how bytes are read, as programs pass them: `Float32Array` and its like.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "../GpuError.ts"

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

interface ElementClass {
  readonly BYTES_PER_ELEMENT: number
  readonly prototype: ArrayBufferView
}

/** On Bun `DataView` has a `BYTES_PER_ELEMENT` of 1. */
const isDataView = (type: ElementClass): boolean => (type as unknown) === DataView || type.prototype instanceof DataView

/**
 * Whether a value is a class whose instances have elements of a whole number of bytes, one or more.
 *
 * @internal
 */
export const isElementClass = (type: unknown): boolean => {
  if (typeof type !== "function") return false
  const given = type as unknown as ElementClass
  return Number.isInteger(given.BYTES_PER_ELEMENT) && given.BYTES_PER_ELEMENT > 0 && !isDataView(given)
}

/**
 * InvalidRequest for a value that is no such class, or `undefined`.
 *
 * @internal
 */
export const elementClassProblem = (operation: string, type: unknown): GpuError | undefined =>
  isElementClass(type) ? undefined : invalidRequest(
    operation,
    "the element type is no typed array class",
    "Pass a class such as Float32Array."
  )
