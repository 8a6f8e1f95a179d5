/**
 * How a kernel finds the element of an array from the position of an item in the iteration.
 *
 * @internal
 */
import * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"

/**
 * The ways, from cheap to expensive: the item's own element, the same with an offset, one element for all, or strides
 * over the axes of the iteration, without those of stride 0.
 */
export type Access = "Own" | "Shifted" | "Single" | "Strided"

export const accessOf = (offset: number, strides: ReadonlyArray<number>): Access => {
  if (strides.length === 1 && strides[0] === 1) return offset === 0 ? "Own" : "Shifted"
  for (let axis = 0; axis < strides.length; axis++) {
    if (strides[axis] !== 0) return "Strided"
  }
  return "Single"
}

/** The coordinates of a position in an iteration over axes of these lengths, the last axis fastest. */
export const coordinates = (
  position: Expr.Expr<"u32">,
  lengths: ReadonlyArray<Expr.Expr<"u32">>
): ReadonlyArray<Expr.Expr<"u32">> => {
  const result = lengths.slice()
  let rest = position
  for (let axis = lengths.length - 1; axis > 0; axis--) {
    const length = lengths[axis]!
    const above = Expression.make("u32", { _tag: "Quotient", operands: [rest, length] })
    result[axis] = Expr.subtract(rest, Expr.multiply(above, length))
    rest = above
  }
  if (lengths.length > 0) result[0] = rest
  return result
}

/** `offset` plus each coordinate times its stride, modulo 2^32, in which strides may be negative. */
export const stridedIndex = (
  offset: Expr.Expr<"u32">,
  coordinates: ReadonlyArray<Expr.Expr<"u32">>,
  strides: ReadonlyArray<Expr.Expr<"u32"> | undefined>
): Expr.Expr<"u32"> => {
  let index = offset
  for (let axis = 0; axis < coordinates.length; axis++) {
    const stride = strides[axis]
    if (stride === undefined) continue
    index = Expression.make("u32", { _tag: "MultiplyAdd", operands: [index, coordinates[axis]!, stride] })
  }
  return index
}
