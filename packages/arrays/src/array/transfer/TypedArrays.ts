/**
 * Typed arrays of the program: the element type that each class stands for, and their memory.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest, outOfMemory } from "effect-gpu-pool/GpuError"

const dtypes: { readonly [name: string]: DType } = {
  Float32Array: "f32",
  Int32Array: "i32",
  Uint32Array: "u32",
  Float16Array: "f16",
  Float64Array: "f64",
  Int8Array: "i8",
  Uint8Array: "u8",
  Uint8ClampedArray: "u8",
  Int16Array: "i16",
  Uint16Array: "u16",
  BigInt64Array: "i64",
  BigUint64Array: "u64"
}

/** The element type of a typed array; InvalidRequest for classes whose elements no device has. */
export const dtypeOf = (operation: string, view: ArrayBufferView): DType | GpuError => {
  // That of the built-in class, also for subclasses and other realms.
  const name = String(Reflect.get(view, Symbol.toStringTag))
  return dtypes[name] ?? invalidRequest(
    operation,
    `the class of the data is ${name}, whose elements are of no type that devices have`,
    `Pass one of ${Object.keys(dtypes).join(", ")}, or an array of numbers.`
  )
}

/** Bytes as truth values: 0 and 1, also where they are greater. */
export const truthsOf = (bytes: Uint8Array): Uint8Array =>
  bytes.some((byte) => byte > 1) ? bytes.map((byte) => byte === 0 ? 0 : 1) : bytes

/** Why the memory of a typed array cannot be copied, or `undefined`. */
export const memoryProblem = (operation: string, { buffer }: ArrayBufferView): GpuError | undefined => {
  if (!(buffer instanceof ArrayBuffer)) {
    return invalidRequest(
      operation,
      "the data is over a SharedArrayBuffer, or memory of another realm",
      "Pass a copy of it, as Float32Array.from(data) makes one."
    )
  }
  // `detached` came with ES2024, later than the library's target.
  return (buffer as { readonly detached?: boolean }).detached !== true ? undefined : invalidRequest(
    operation,
    "the data's ArrayBuffer is detached",
    "Use it before it is transferred elsewhere, or while the mapping lasts that it belongs to."
  )
}

/** Zeroed memory of the program, or the error when it has none left, for which V8 throws a RangeError. */
export const allocate = (bytes: number): ArrayBuffer | GpuError => {
  try {
    return new ArrayBuffer(bytes)
  } catch {
    return outOfMemory(bytes)
  }
}
