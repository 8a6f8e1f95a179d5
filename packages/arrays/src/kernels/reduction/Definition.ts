/**
 * The definitions of reductions and scans, checked before code is generated from them.
 */
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import type { NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import type { Inputs } from "../ElementwiseKernel.ts"
import { declarationProblem, inputOf, usesProblem } from "../expression/Declaration.ts"
import * as Expression from "../expression/Expression.ts"
import { depthProblem } from "../expression/Expression.ts"
import { substitute } from "../expression/Substitution.ts"
import { type Combine, type Component, gathered, type StateExprs } from "./State.ts"

/**
 * An argument that a kernel only reads: a number, or a vector declared with `access: "read"`.
 *
 * **Example** (Two vectors and a number)
 *
 * ```ts
 * import { KernelArgument } from "effect-gpu-pool"
 * import type { ReductionKernel } from "@effect-gpu-pool/arrays"
 *
 * const args: ReadonlyArray<ReductionKernel.InputArgument> = [
 *   KernelArgument.VectorArg("f32", "x", { access: "read" }),
 *   KernelArgument.VectorArg("f32", "weights", { access: "read", withOffset: true }),
 *   KernelArgument.ScalarArg("f32", "scale")
 * ]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type InputArgument = ScalarArg<string, DType> | VectorArg<string, DType, boolean, "read">

/**
 * The arguments as expressions: scalars by their values, vectors by the element at the position that an item has
 * reached; or what is wrong with them, or with the kernel's name.
 *
 * @internal
 */
export const declaredInputs = <Args extends ReadonlyArray<NumericArgument>>(
  operation: string,
  name: string,
  args: Args
): Inputs<Args> | GpuError => {
  const problem = declarationProblem(operation, name, args) ?? writableProblem(operation, args)
  if (problem !== undefined) return problem
  return Object.fromEntries(args.map((argument) => [argument.name, inputOf(argument)])) as Inputs<Args>
}

const writableProblem = (operation: string, args: ReadonlyArray<NumericArgument>): GpuError | undefined => {
  const writable = args.find((argument) => argument._tag === "VectorArg" && argument.access !== "read")
  return writable === undefined ? undefined : invalidRequest(
    operation,
    `it may write its argument "${writable.name}"`,
    `Declare the vector with { access: "read" }: the result gets memory of its own.`
  )
}

const quoted = (name: string): string => name === "" ? "" : ` for "${name}"`

/**
 * The components of a state by name, or what is wrong with them.
 *
 * @internal
 */
export const componentsOf = (
  operation: string,
  state: Readonly<Record<string, DType>>,
  neutral: Readonly<Record<string, Constant>>
): ReadonlyArray<Component> | GpuError => {
  const components = Object.entries(state).map(([name, dtype]) => ({
    name,
    dtype,
    neutral: neutral[name]!
  }))
  return components.length > 0
    ? components
    : invalidRequest(operation, "its state has no value", `Name each value and its type: { sum: "f32" }.`)
}

/**
 * Checks that the result of a function is a state: an expression for each component, of its type.
 *
 * @internal
 */
export const stateOf = (
  operation: string,
  name: string,
  state: ReadonlyArray<Component>,
  answers: StateExprs
): StateExprs | GpuError => {
  for (const [index, { dtype, name: component }] of state.entries()) {
    const answer: unknown = answers[index]
    if (!Expression.isExpression(answer)) {
      return invalidRequest(
        operation,
        `its function ${name} returned ${String(answer)}${quoted(component)}, which is no expression`,
        `Return an expression, as Expr.constant("${dtype}", 1) is.`
      )
    }
    const { problem, type } = answer
    if (problem !== undefined) return problem
    if (type === dtype) continue
    return invalidRequest(
      operation,
      `its function ${name} returned an expression of ${type}${quoted(component)}, and the state is ${dtype}`,
      `Cast it: Expr.astype(value, "${dtype}").`
    )
  }
  return answers
}

/**
 * What is wrong with the neutral values.
 *
 * @internal
 */
export const neutralProblem = (operation: string, state: ReadonlyArray<Component>): GpuError | undefined => {
  for (const { dtype, name, neutral } of state) {
    if (Expression.holds(dtype, neutral)) continue
    return invalidRequest(
      operation,
      `the neutral value${quoted(name)} is ${neutral}, which is no ${dtype}`,
      "Give the value that changes nothing when it is combined, such as 0 for a sum."
    )
  }
  return undefined
}

/**
 * The checked function `combine`, or what is wrong with it. The program's function is called once, with variables, which
 * are then substituted: what it would do at another time does not matter.
 *
 * @internal
 */
export const combineOf = (
  operation: string,
  state: ReadonlyArray<Component>,
  combine: Combine
): Combine | GpuError => {
  const [a, b] = [gathered(state), gathered(state)]
  const combined = stateOf(operation, "combine", state, combine(a, b))
  if (isGpuError(combined)) return combined
  const variables = [...a, ...b]
  return usesProblem(operation, "combine", combined, [], variables) ??
    ((first, second) => {
      const values = [...first, ...second]
      return substitute(combined, new Map(variables.map((variable, index) => [variable, values[index]!])))
    })
}

/**
 * Whether the functions are too deep together: each alone is no deeper than an expression may be.
 *
 * @internal
 */
export const togetherProblem = (operation: string, expressions: StateExprs): GpuError | undefined =>
  depthProblem(operation, Math.max(...expressions.map(({ depth }) => depth)))
