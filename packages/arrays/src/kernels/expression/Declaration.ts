/**
 * What the definitions of all kernels made of expressions have in common: arguments that become expressions, and
 * functions of the program that are called with those.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Kernel from "effect-gpu-pool/Kernel"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import { widened } from "effect-gpu-pool/ValueType"
import { type Expr, make, scalar } from "./Expression.ts"

/** The name of a definition in errors. */
export const operationOf = (call: string, name: string): string => `${call}, kernel "${name}"`

/** What is wrong with a kernel's name or its arguments. */
export const declarationProblem = (name: string, args: ReadonlyArray<NumericArgument>): GpuError | undefined =>
  Kernel.make({ name, args, body: {} }).problem

/** An argument as an expression: a scalar's value, or a vector's element at the position that an item has reached. */
export const inputOf = (argument: NumericArgument): Expr<DType> => {
  const { name } = argument
  // Generated code first assigns each scalar to a variable of the expression's type, which widens it.
  if (argument._tag === "ScalarArg") return scalar(widened(argument.dtype), name)
  const { dtype } = argument
  return make(dtype, { _tag: "Element", vector: name, dtype, at: { _tag: "Own", withOffset: argument.withOffset } })
}

/** Whether an expression is an argument of {@link inputOf}, or another element of such a vector. */
export const isInput = ({ node, type }: Expr, args: ReadonlyArray<NumericArgument>): boolean =>
  args.some((argument) => {
    if (node._tag === "Scalar") {
      return argument._tag === "ScalarArg" && argument.name === node.name && widened(argument.dtype) === type
    }
    return node._tag === "Element" && argument._tag === "VectorArg" && argument.access !== "write" &&
      argument.name === node.vector && argument.dtype === node.dtype &&
      (node.at._tag === "Inside" || node.at.withOffset === argument.withOffset)
  })
