/**
 * What the definitions of all kernels made of expressions have in common: arguments that become expressions, and
 * functions of the program that are called with those.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted, thrownText } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Kernel from "effect-gpu-pool/Kernel"
import { isNumeric, type KernelArgument, type NumericArgument } from "effect-gpu-pool/KernelArgument"
import * as ValueType from "effect-gpu-pool/ValueType"
import { type Expr, make, scalar } from "./Expression.ts"

/** The name of a definition in errors. */
export const operationOf = (call: string, name: unknown): string =>
  typeof name === "string" ? `${call}, kernel "${name}"` : call

/** What is wrong with a kernel's name or its arguments. */
export const declarationProblem = (operation: string, name: string, args: unknown): GpuError | undefined =>
  Array.isArray(args)
    ? Kernel.check(Kernel.make({ name, args, body: {} })) ?? inexpressible(operation, args)
    : invalidRequest(
      operation,
      "its arguments are no list of vectors and scalars",
      "Declare each with KernelArgument.VectorArg or KernelArgument.ScalarArg."
    )

/** Expressions are of elements and numbers, of types that every language has. */
const inexpressible = (operation: string, args: ReadonlyArray<KernelArgument>): GpuError | undefined => {
  const byHand = "rite the kernel by hand, with Kernel.make."
  for (const argument of args) {
    const its = `its argument "${argument.name}" is`
    if (!isNumeric(argument)) {
      return invalidRequest(operation, `${its} an image or a sampler, which no expression can name`, `W${byHand}`)
    }
    const { element, length } = ValueType.partsOf(argument.dtype)
    if (length > 1) {
      const hint = `Pass its ${length} numbers as arguments of their own, or w${byHand}`
      return invalidRequest(operation, `${its} a ${argument.dtype}, and no expression is a short vector`, hint)
    }
    if (element === "i64" || element === "u64") {
      const hint = `Pass its halves as two u32, or w${byHand}`
      return invalidRequest(operation, `${its} a 64-bit integer (${element}), which no expression is`, hint)
    }
  }
  return undefined
}

/** An argument as an expression: a scalar's value, or a vector's element at the position that an item has reached. */
export const inputOf = (argument: NumericArgument): Expr<DType> => {
  const { name } = argument
  // Generated code first assigns each scalar to a variable of the expression's type, which widens it.
  if (argument._tag === "ScalarArg") return scalar(ValueType.widened(argument.dtype), name)
  const { dtype } = argument
  return make(dtype, { _tag: "Element", vector: name, dtype, at: { _tag: "Own", withOffset: argument.withOffset } })
}

/** Whether an expression is an argument of {@link inputOf}, or another element of such a vector. */
export const isInput = ({ node, type }: Expr, args: ReadonlyArray<NumericArgument>): boolean =>
  args.some((argument) => {
    if (node._tag === "Scalar") {
      return argument._tag === "ScalarArg" && argument.name === node.name && ValueType.widened(argument.dtype) === type
    }
    return node._tag === "Element" && argument._tag === "VectorArg" && argument.access !== "write" &&
      argument.name === node.vector && argument.dtype === node.dtype &&
      (node.at._tag === "Inside" || node.at.withOffset === argument.withOffset)
  })

/** The result of a program's function, or what is wrong with it. */
export const answerOf = (operation: string, name: string, answer: () => unknown): unknown => {
  try {
    return answer()
  } catch (cause) {
    return invalidRequest(
      operation,
      `its function ${name} threw ${thrownText(cause)}`,
      "It is called once, when the kernel is defined, with expressions instead of numbers."
    )
  }
}

/** The error for a value that is no kernel; `makers` are the functions that make one. */
export const noKernel = (operation: string, value: unknown, makers: string): GpuError =>
  invalidRequest(operation, `${formatted(value)} was given for a kernel`, `Pass what ${makers} returned.`)

/** The advice for a value that is no expression. JavaScript's operators turn an expression into a number or a text. */
export const expressionHint = (value: unknown, otherwise: string): string =>
  Number.isNaN(value) || typeof value === "string" || typeof value === "boolean"
    ? "Operators of JavaScript make no expressions: write Expr.multiply(x, 2) for x * 2, and Expr.less(x, 2) for x < 2."
    : otherwise
