/**
 * Operations on the elements of arrays, and how much each adds to a kernel.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import { nodesOf } from "../../kernels/expression/Inspection.ts"

/**
 * An operation on the elements of arrays: one object for each, made once, since it is the key of cached kernels. It always has the
 * same number of operands.
 */
export interface ArrayOperation {
  readonly name: string
  readonly build: (operands: ReadonlyArray<Expr.Expr<Expr.NumberType>>, dtype: DType) => Expr.Expr<DType>
}

const nodesPerUnit = 12

/** The weight of an operation on operands of some types. */
interface Weighed {
  readonly operandTypes: ReadonlyArray<DType>
  readonly dtype: DType
  readonly weight: number
}

const known = new WeakMap<ArrayOperation, Array<Weighed>>()

/**
 * The weight of an operation on operands of these types, by which chains are cut: one for every twelve nodes of its expression.
 * So operations on complex numbers weigh several times as much as those on real ones.
 */
export const weightOf = (operation: ArrayOperation, operandTypes: ReadonlyArray<DType>, dtype: DType): number => {
  let weights = known.get(operation)
  if (weights === undefined) known.set(operation, weights = [])
  // Few, and a search is faster than a map with keys of several types.
  for (let at = 0; at < weights.length; at++) {
    const one = weights[at]!
    if (one.dtype === dtype && areAlike(one.operandTypes, operandTypes)) return one.weight
  }
  const weight = measured(operation, operandTypes, dtype)
  weights.push({ operandTypes, dtype, weight })
  return weight
}

const areAlike = (a: ReadonlyArray<DType>, b: ReadonlyArray<DType>): boolean => {
  for (let at = 0; at < a.length; at++) {
    if (a[at] !== b[at]) return false
  }
  return true
}

const measured = (operation: ArrayOperation, operandTypes: ReadonlyArray<DType>, dtype: DType): number => {
  const operands = operandTypes.map((type, at) => Expression.scalar(type, `n${at}`))
  const expression = operation.build(operands as ReadonlyArray<Expr.Expr<Expr.NumberType>>, dtype)
  return Math.ceil(nodesOf([expression]).size / nodesPerUnit)
}
