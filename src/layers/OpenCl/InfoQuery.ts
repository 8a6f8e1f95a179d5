/**
 * What an OpenCL driver says of an object, property by property.
 *
 * @internal
 */
import type { OpenClApi } from "./OpenClApi.ts"
import * as OpenClCode from "./OpenClCode.ts"

/** A function that answers for objects of one kind, as `clGetDeviceInfo`. */
export type Query = OpenClApi["clGetDeviceInfo"]

/** How a property is read. */
export type Read<A> = (query: Query, object: bigint, what: number) => A

/** A reader of what another one reads, as something else. */
export const mapped = <A, B>(read: Read<A | undefined>, to: (value: A) => B): Read<B | undefined> => (...args) => {
  const value = read(...args)
  return value === undefined ? undefined : to(value)
}

/** A property of 8 bytes (cl_ulong, size_t, a handle), or of fewer; `undefined` where the driver does not answer. */
export const word: Read<bigint | undefined> = (query, object, what) => {
  const value = new BigUint64Array(new ArrayBuffer(8))
  return query(object, what, 8, value, null) === OpenClCode.success ? value[0] : undefined
}

/** The same, as a number. */
export const long = mapped(word, Number)

/** A property of 4 bytes (cl_uint, cl_bool, a float's bits). */
export const uint: Read<number | undefined> = (query, object, what) => {
  const value = new Uint32Array(new ArrayBuffer(4))
  return query(object, what, 4, value, null) === OpenClCode.success ? value[0] : undefined
}

/** A property of as many bytes as the driver says. */
export const bytes: Read<Uint8Array<ArrayBuffer> | undefined> = (query, object, what) => {
  const needed = new BigUint64Array(new ArrayBuffer(8))
  if (query(object, what, 0, null, needed) !== OpenClCode.success) return undefined
  const value = new Uint8Array(new ArrayBuffer(Number(needed[0])))
  if (value.length === 0) return value
  return query(object, what, value.length, value, null) === OpenClCode.success ? value : undefined
}

/** A list of numbers of 8 bytes. */
export const words = mapped(bytes, (list): ReadonlyArray<bigint> => [...new BigUint64Array(list.buffer)])

/** A text up to its first null, which is empty where the driver does not answer. */
export const text: Read<string> = (...args) => new TextDecoder().decode(bytes(...args)).split("\0", 1)[0]!.trim()

/** Properties by name: the number of each, and how it is read. */
export type Properties = { readonly [name: string]: readonly [what: number, read: Read<unknown>] }

/** What a driver says of an object: a value for each property. */
export type Facts<P extends Properties> = { readonly [N in keyof P]: ReturnType<P[N][1]> }

/** One property of an object. */
export const one = <P extends Properties, N extends keyof P>(
  properties: P,
  name: N,
  query: Query,
  object: bigint
): Facts<P>[N] => {
  const [what, read] = properties[name]!
  return read(query, object, what) as Facts<P>[N]
}

/** All properties of an object. */
export const all = <P extends Properties>(properties: P, query: Query, object: bigint): Facts<P> =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, one(properties, name, query, object)])) as Facts<P>
