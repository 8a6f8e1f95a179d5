/**
 * Vectors whose elements are loaded four at a time.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import type { ValueType } from "effect-gpu-pool/ValueType"
import type { Expr } from "./Expression.ts"
import { nodesOf, ownVectorsOf } from "./Inspection.ts"

/** The types of which languages have vectors of four that they load at once. */
export type FourType = Extract<DType, "f32" | "f16" | "i32" | "u32">

export const hasFour = (dtype: ValueType): dtype is FourType =>
  dtype === "f32" || dtype === "f16" || dtype === "i32" || dtype === "u32"

/** The vector type of four elements. */
export const fourOf = (dtype: FourType) => `vec4<${dtype}>` as const

/** The vectors that are read so, by name. */
export type Fours = ReadonlyMap<string, FourType>

export const none: Fours = new Map()

/** The vectors that can be read so: of these, expressions read the item's own element and nothing else, from the first one on. */
export const foursIn = (args: ReadonlyArray<NumericArgument>, expressions: ReadonlyArray<Expr>): Fours => {
  const fours = new Map<string, FourType>()
  const own = ownVectorsOf(expressions)
  for (const { _tag, dtype, name } of args) {
    if (_tag === "VectorArg" && hasFour(dtype) && own.has(name)) fours.set(name, dtype)
  }
  for (const { node } of nodesOf(expressions)) {
    if (node._tag === "Element" && (node.at._tag !== "Own" || node.at.withOffset)) fours.delete(node.vector)
  }
  return fours
}
