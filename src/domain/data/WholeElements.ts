/**
 * Bytes as elements of a typed array class.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../GpuError.ts"

/** A typed array class. */
export interface ElementClass {
  readonly name: string
  readonly BYTES_PER_ELEMENT: number
}

/** Why that many bytes are no array of a class, or `undefined`. `place` says which bytes they are. */
export const problem = (
  operation: string,
  bytes: number,
  place: string,
  { BYTES_PER_ELEMENT, name }: ElementClass,
  hint: string
): GpuError | undefined =>
  bytes % BYTES_PER_ELEMENT === 0
    ? undefined
    : invalidRequest(operation, `the ${bytes} bytes ${place} are no whole number of ${name} elements`, hint)
