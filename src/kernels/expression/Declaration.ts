/**
 * What the definitions of all kernels made of expressions have in common: arguments that become expressions, and
 * functions of the program that are called with those. Programs without types can give anything.
 *
 * @internal
 */
import type { DType } from "../../domain/DType.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as Kernel from "../../domain/Kernel.ts"
import { isNumeric, type KernelArgument, type NumericArgument } from "../../domain/KernelArgument.ts"
import { thrownText } from "../../domain/ShownValue.ts"
import type { Expr } from "../Expr.ts"
import { make, scalar } from "./Expression.ts"

/**
 * Which definition, and whose: how errors name it.
 *
 * @internal
 */
export const operationOf = (call: string, name: unknown): string =>
  typeof name === "string" ? `${call}, kernel "${name}"` : call

/**
 * What is wrong with a kernel's name or its arguments.
 *
 * @internal
 */
export const declarationProblem = (operation: string, name: string, args: unknown): GpuError | undefined =>
  Array.isArray(args)
    ? Kernel.check(Kernel.make({ name, args, body: {} })) ?? imageProblem(operation, args)
    : invalidRequest(
      operation,
      "its arguments are no list of vectors and scalars",
      "Declare each with KernelArgument.VectorArg or KernelArgument.ScalarArg."
    )

/** Expressions are of elements and numbers. */
const imageProblem = (operation: string, args: ReadonlyArray<KernelArgument>): GpuError | undefined => {
  const other = args.find((argument) => !isNumeric(argument))
  return other === undefined ? undefined : invalidRequest(
    operation,
    `its argument "${other.name}" is an image or a sampler, which no expression can name`,
    "Write the kernel by hand, with Kernel.make."
  )
}

/**
 * An argument as an expression: a scalar's value, or a vector's element at the position that an item has reached.
 *
 * @internal
 */
export const inputOf = (argument: NumericArgument): Expr<DType> => {
  const { dtype, name } = argument
  if (argument._tag === "ScalarArg") return scalar(dtype, name)
  return make(dtype, { _tag: "Element", vector: name, dtype, at: { _tag: "Own", withOffset: argument.withOffset } })
}

/**
 * What a program's function answers, or what is wrong with it.
 *
 * @internal
 */
export const answerOf = (operation: string, name: string, answer: () => unknown): unknown => {
  try {
    return answer()
  } catch (cause) {
    return invalidRequest(
      operation,
      `its function ${name} threw ${thrownText(cause)}`,
      "It is called once, when the kernel is defined, with expressions in the place of numbers."
    )
  }
}

/**
 * What was to run is no kernel; `makers` are the functions that make one.
 *
 * @internal
 */
export const noKernel = (operation: string, makers: string): GpuError =>
  invalidRequest(operation, "the value given for a kernel is none", `Pass what ${makers} returned.`)
