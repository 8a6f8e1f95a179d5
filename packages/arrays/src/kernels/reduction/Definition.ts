/**
 * The definitions of reductions and scans, checked before code is generated from them.
 */
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest, isGpuError } from "effect-gpu-pool/GpuError"
import type { NumericArgument, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { SmallInteger } from "effect-gpu-pool/ValueType"
import type { Inputs } from "../ElementwiseKernel.ts"
import type * as Expr from "../Expr.ts"
import { declarationProblem, inputOf, isInput } from "../expression/Declaration.ts"
import * as Expression from "../expression/Expression.ts"
import { depthProblem } from "../expression/Expression.ts"
import { nodesOf } from "../expression/Inspection.ts"
import { maxExpressions } from "../expression/OutputsProblem.ts"
import { reservedNameProblem } from "../expression/ReservedNames.ts"
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
export type InputArgument = ScalarArg<string, DType | SmallInteger> | VectorArg<string, DType, boolean, "read">

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
  const problem = declarationProblem(name, args) ?? reservedNameProblem(operation, args) ??
    writableProblem(operation, args)
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
  neutral: Readonly<Record<string, number>>
): ReadonlyArray<Component> | GpuError => {
  const components = Object.entries(state).map(([name, dtype]) => ({ name, dtype, neutral: neutral[name]! }))
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
    const { problem, type } = answers[index]!
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
      "Give the number that changes nothing when it is combined, such as 0 for a sum."
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

/**
 * Whether expressions use anything but the arguments of a function and the variables that it is called with: `combine` has
 * no arguments, since the kernels that combine states do not have them.
 *
 * @internal
 */
export const usesProblem = (
  operation: string,
  name: "map" | "combine" | "output",
  expressions: ReadonlyArray<Expr.Expr>,
  args: ReadonlyArray<NumericArgument>,
  variables: StateExprs = []
): GpuError | undefined => {
  const nodes = nodesOf(expressions)
  if (nodes.size > maxExpressions) {
    return invalidRequest(
      operation,
      `its function ${name} makes ${nodes.size} expressions, which is more than ${maxExpressions}`,
      "Compute some of them in a kernel before."
    )
  }
  for (const expression of nodes) {
    if (variables.some((variable) => variable === expression)) continue
    const stray = strayOf(name, expression, args)
    if (stray === undefined) continue
    return invalidRequest(
      operation,
      `its function ${name} uses ${stray}, which it does not get`,
      name === "combine"
        ? "It may use only the two states: let map put what it needs into the state."
        : "Use the expressions that it is called with."
    )
  }
  return undefined
}

const strayOf = (
  name: "map" | "combine" | "output",
  expression: Expr.Expr,
  args: ReadonlyArray<NumericArgument>
): string | undefined => {
  const { node } = expression
  switch (node._tag) {
    case "Index":
      return name === "combine" ? "the element's index" : undefined
    case "Variable":
      return name === "map" ? "a state" : "a state of another kernel"
    case "Scalar":
    case "Element":
      return isInput(expression, args)
        ? undefined
        : `the argument "${node._tag === "Scalar" ? node.name : node.vector}"`
    default:
      return undefined
  }
}
