/**
 * Matrix products of the reference, by NumPy's rules.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import { isFloat } from "../expressions/FloatFormat.ts"
import { type IntegerType, wrapped } from "../expressions/IntegerReference.ts"
import { applyTo, type Value } from "../expressions/Reference.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { castValue, common } from "./ElementOperations.ts"
import { carrierOf, sum } from "./Sums.ts"

type Shape = ReadonlyArray<number>

/** The shape of a product, or `undefined` where there is none. */
export const productShape = (a: Shape, b: Shape): Shape | undefined => {
  if (a.length === 0 || b.length === 0 || a.at(-1) !== (b.at(-2) ?? b.at(-1))) return undefined
  const batch = ArrayModel.broadcastShape([a.slice(0, -2), b.slice(0, -2)])
  return batch && [...batch, ...a.slice(-2, -1), ...(b.length > 1 ? b.slice(-1) : [])]
}

export const matrixProduct = (
  a: ArrayModel.ArrayModel,
  b: ArrayModel.ArrayModel,
  rules: FloatRules
): ArrayModel.ArrayModel => {
  const dtype = common(a.dtype, b.dtype)
  const carrier = carrierOf(dtype)
  const [rows, columns] = [a.shape.length > 1 ? 1 : 0, b.shape.length > 1 ? 1 : 0]
  return ArrayModel.build(dtype, productShape(a.shape, b.shape)!, (position) => {
    const batch = position.slice(0, position.length - rows - columns)
    const [row, column] = [position.slice(batch.length, batch.length + rows), position.slice(batch.length + rows)]
    const terms = Array.from({ length: a.shape.at(-1)! }, (_, inner): Value => {
      const x = castValue(inBatch(a, batch, [...row, inner]), a.dtype, carrier, rules)
      const y = castValue(inBatch(b, batch, [inner, ...column]), b.dtype, carrier, rules)
      return x === undefined || y === undefined ? undefined : productOf(x, y, carrier, rules)
    })
    return castValue(sum(terms, carrier, rules), carrier, dtype, rules)
  })
}

/** The element of a matrix of the batch; a single matrix is broadcast to the whole batch. */
const inBatch = (array: ArrayModel.ArrayModel, batch: ReadonlyArray<number>, inside: ReadonlyArray<number>): Value => {
  const axes = array.shape.length - inside.length
  const outer = batch.slice(batch.length - axes)
  return ArrayModel.at(array, [...outer.map((index, axis) => array.shape[axis] === 1 ? 0 : index), ...inside])
}

/** The sum, rounded or not: a device may keep more digits. */
const productOf = (x: NonNullable<Value>, y: NonNullable<Value>, dtype: DType, rules: FloatRules): Value =>
  isFloat(dtype)
    ? applyTo("multiply", [x, y], dtype, dtype, { ...rules, reorders: true })
    : wrapped(BigInt(x as number) * BigInt(y as number), dtype as IntegerType)
