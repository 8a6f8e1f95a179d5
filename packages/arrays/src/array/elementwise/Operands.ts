/**
 * Applies an operation to the operands of a call. A wrong operand fails before any memory is requested.
 * Every elementwise operation runs through here, so only the result is allocated.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { isLong, type Operation } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Expr from "../../kernels/Expr.ts"
import * as Operations from "../../kernels/expression/Operations.ts"
import { type AnyFunction, withArrays } from "../ArrayProblem.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import { apply, type ArrayOperand, type Computed } from "../fusion/Evaluation.ts"
import { elementOf, type Scalar } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"
import type { ArrayOperation } from "./ArrayOperation.ts"
import { arrayProblem, operandProblem } from "./OperandProblem.ts"
import type { BinarySignatures, Signature, UnarySignatures } from "./Signature.ts"

export type Operand = DeviceArray | Scalar

/** An operation that expressions have. */
export const plain = (operation: Operation): ArrayOperation => ({
  name: operation,
  build: (operands) => Operations.apply(operation, operands) as Expr.Expr<DType>
})

/** An operation that expressions have, and another one for truth values, which expressions do not take as numbers. */
export const plainOrTruth = (operation: Operation, ofTruths: Operation): ArrayOperation => ({
  name: operation,
  build: (operands, dtype) => Operations.apply(dtype === "bool" ? ofTruths : operation, operands) as Expr.Expr<DType>
})

/** An operation of one array. `F` is the type that users see. */
export const unary = <F extends AnyFunction>(operation: ArrayOperation, signatures: UnarySignatures): F => {
  const name = nameOf(operation)
  const body = (self: ArrayOperand): Computed => {
    if (Effect.isEffect(self)) return withArrays([self], body)
    const problem = arrayProblem(name, self)
    if (problem !== undefined) return problem
    const signature = signatures[self.dtype]
    if (signature === undefined) return noSuchTypes(name, self.dtype)
    return apply(operation, [self], signature.operands, signature.result, self.shape)
  }
  return body as AnyFunction as F
}

/** An operation of two operands, at least one of them an array. `F` is the type that users see. */
export const binary = <F extends AnyFunction>(operation: ArrayOperation, signatures: BinarySignatures): F =>
  dual(2, binaryBody(operation, signatures)) as AnyFunction as F

/** The same without the data-last form. */
export const binaryBody = (operation: ArrayOperation, signatures: BinarySignatures) => {
  const name = nameOf(operation)
  const body = (self: Operand | Computed, that: Operand | Computed): Computed => {
    if (Effect.isEffect(self) || Effect.isEffect(that)) return withArrays([self, that], body)
    // One of them is an array.
    const problem = operandProblem(name, self) ?? operandProblem(name, that) ??
      (typeof self === "object" ? undefined : arrayProblem(name, that))
    if (problem !== undefined) return problem
    const [a, b] = [typeBeside(self, that), typeBeside(that, self)]
    const signature = signatures[a][b]
    return signature === undefined ? noSuchTypes(name, a, b) : combine(name, operation, [self, that], signature)
  }
  return body
}

/** A value of the program takes the type of the array beside it. */
const typeBeside = (operand: Operand, beside: Operand): DType =>
  typeof operand === "object" ? operand.dtype : (beside as DeviceArray).dtype

/** Applies an operation to arrays and values of the program, which broadcast. */
export const combine = (
  name: string,
  operation: ArrayOperation,
  operands: ReadonlyArray<Operand>,
  { operands: types, result }: Signature
): Computed => {
  let shape: Shape.Shape | undefined
  for (let at = 0; at < operands.length; at++) {
    const operand = operands[at]!
    if (typeof operand !== "object") {
      if (!fitsBeside(types[at]!, operand)) return notHeld(name, operand, types[at]!)
    } else {
      const broadcast = shape === undefined ? operand.shape : Shape.broadcast(name, shape, operand.shape)
      if (broadcast instanceof GpuError) return broadcast
      shape = broadcast
    }
  }
  return apply(operation, operands, types, result, shape!)
}

export const nameOf = ({ name }: ArrayOperation): string => `DeviceArray.${name}`

/** The error of an operation that has no meaning for elements of these types. */
export const noSuchTypes = (name: string, ...dtypes: ReadonlyArray<DType>): GpuError =>
  invalidRequest(
    name,
    dtypes.length === 1 ? `the array is of ${dtypes[0]}` : `the operands are of ${dtypes.join(" and ")}`,
    dtypes.includes("c64")
      ? "It has no meaning for complex numbers: take a part of them, as DeviceArray.real(x) or DeviceArray.abs(x) does."
      : "Cast first, as DeviceArray.astype(x, \"i32\") does."
  )

/** Beside truth values, numbers are not taken for such: what is meant may be arithmetic. */
const fitsBeside = (dtype: DType, value: Scalar): boolean =>
  elementOf(dtype, value) !== undefined && (dtype !== "bool" || typeof value === "boolean")

const notHeld = (name: string, value: Scalar, dtype: DType): GpuError =>
  invalidRequest(
    name,
    `the ${typeof value} ${formatted(value)} is not of type ${dtype}, which it takes beside the array`,
    besideHint(dtype)
  )

const besideHint = (dtype: DType): string => {
  if (dtype === "bool") return "Use true or false, or cast the array first: DeviceArray.astype(x, \"i32\")."
  const whole = isLong(dtype) ? "bigint" : "whole number"
  return `Use a ${whole} in range, or cast the array first: DeviceArray.astype(x, "f32").`
}
