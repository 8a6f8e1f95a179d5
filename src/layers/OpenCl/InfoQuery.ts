/**
 * What an OpenCL driver says of an object, property by property.
 *
 * @internal
 */
import type { OpenClApi } from "./OpenClApi.ts"
import * as OpenClCode from "./OpenClCode.ts"

/** A function that answers for objects of one kind, as `clGetDeviceInfo`. */
export type Query = OpenClApi["clGetDeviceInfo"]

/** A property of 8 bytes (cl_ulong, size_t, a handle), or of fewer; `undefined` where the driver does not answer. */
export const word = (query: Query, object: bigint, what: number): bigint | undefined => {
  const value = new BigUint64Array(new ArrayBuffer(8))
  return query(object, what, 8, value, null) === OpenClCode.success ? value[0] : undefined
}

/** The same, as a number. */
export const long = (query: Query, object: bigint, what: number): number | undefined => {
  const value = word(query, object, what)
  return value === undefined ? undefined : Number(value)
}

/** A property of 4 bytes (cl_uint, cl_bool, a float's bits). */
export const uint = (query: Query, object: bigint, what: number): number | undefined => {
  const value = new Uint32Array(new ArrayBuffer(4))
  return query(object, what, 4, value, null) === OpenClCode.success ? value[0] : undefined
}

/** A property of as many bytes as the driver says. */
export const bytes = (query: Query, object: bigint, what: number): Uint8Array<ArrayBuffer> | undefined => {
  const needed = new BigUint64Array(new ArrayBuffer(8))
  if (query(object, what, 0, null, needed) !== OpenClCode.success) return undefined
  const value = new Uint8Array(new ArrayBuffer(Number(needed[0])))
  if (value.length === 0) return value
  return query(object, what, value.length, value, null) === OpenClCode.success ? value : undefined
}

/** A list of numbers of 8 bytes. */
export const words = (query: Query, object: bigint, what: number): ReadonlyArray<bigint> | undefined => {
  const list = bytes(query, object, what)
  return list === undefined ? undefined : [...new BigUint64Array(list.buffer)]
}

/** A text up to its first null, which is empty where the driver does not answer. */
export const text = (query: Query, object: bigint, what: number): string =>
  new TextDecoder().decode(bytes(query, object, what)).split("\0", 1)[0]!.trim()
