/**
 * Typed arrays of the program: the element type that each class stands for.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { withArticle } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"

const dtypes: { readonly [name: string]: DType } = {
  Float32Array: "f32",
  Int32Array: "i32",
  Uint32Array: "u32",
  Float16Array: "f16",
  Float64Array: "f64"
}

const tag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)?.get

/** The name of a typed array's built-in class, also for subclasses and other realms. */
const className = (view: ArrayBufferView): string => {
  const name: unknown = tag?.call(view)
  return typeof name === "string" ? name : "DataView"
}

/** The element type of a typed array; InvalidRequest for classes whose elements no device has. */
export const dtypeOf = (operation: string, view: ArrayBufferView): DType | GpuError => {
  const name = className(view)
  return dtypes[name] ?? invalidRequest(
    operation,
    `the data is ${withArticle(name)}, whose elements are of no type that devices have`,
    name.startsWith("Big") || name === "DataView"
      ? `Pass one of ${Object.keys(dtypes).join(", ")}, or an array of numbers.`
      : "Convert it: Float32Array.from(data), Int32Array.from(data) or Uint32Array.from(data)."
  )
}
