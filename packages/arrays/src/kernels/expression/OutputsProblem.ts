/**
 * What is wrong with the expressions of a kernel's outputs; checked before code is generated from them.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import { isInput } from "./Declaration.ts"
import type { Expr } from "./Expression.ts"
import { nodesOf } from "./Inspection.ts"
import { reservedNameProblem } from "./ReservedNames.ts"

/**
 * The most expressions of one kernel. Compilers take minutes for many more: PoCL takes 20 seconds for 1,000
 * sines and their 2,000 sums and products.
 */
export const maxExpressions = 4096

type Outputs = Readonly<Record<string, Expr | undefined>>

/** What is wrong with the outputs, or `undefined`. */
export const outputsProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  outputs: Outputs
): GpuError | undefined => {
  const expressions: Array<Expr> = []
  for (const [name, value] of Object.entries(outputs)) {
    const problem = outputProblem(operation, args, name, value)
    if (problem !== undefined) return problem
    if (value !== undefined) expressions.push(value)
  }
  return missingProblem(operation, args, outputs) ??
    (expressions.length === 0 ? noOutput(operation) : undefined) ??
    reservedNameProblem(operation, args) ??
    nodesProblem(operation, args, outputs, expressions)
}

const outputProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  name: string,
  value: Expr | undefined
): GpuError | undefined => {
  const argument = args.find((candidate) => candidate.name === name)
  if (argument?._tag !== "VectorArg" || argument.access === "read") {
    return invalidRequest(
      operation,
      `${JSON.stringify(name)} is no vector that it may write`,
      `Declare it as a vector with access "write" or "readwrite".`
    )
  }
  if (value === undefined) return undefined
  if (value.problem !== undefined) return value.problem
  return value.type === argument.dtype ? undefined : invalidRequest(
    operation,
    `output "${name}" has elements of type ${argument.dtype}, and its expression is ${value.type}`,
    `Cast it: Expr.astype(value, "${argument.dtype}").`
  )
}

const missingProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  outputs: Outputs
): GpuError | undefined => {
  const missing = args.find((argument) =>
    argument._tag === "VectorArg" && argument.access === "write" &&
    (!Object.hasOwn(outputs, argument.name) || outputs[argument.name] === undefined)
  )
  return missing === undefined ? undefined : invalidRequest(
    operation,
    `there is no expression for output "${missing.name}"`,
    "Return one by that name."
  )
}

const noOutput = (operation: string): GpuError =>
  invalidRequest(operation, "it has no output", "Declare a vector that it may write, and its expression.")

/** Expressions must be made from the kernel's own arguments. */
const nodesProblem = (
  operation: string,
  args: ReadonlyArray<NumericArgument>,
  outputs: Outputs,
  expressions: ReadonlyArray<Expr>
): GpuError | undefined => {
  const nodes = nodesOf(expressions)
  if (nodes.size > maxExpressions) {
    return invalidRequest(
      operation,
      `it is made of ${nodes.size} expressions, which is more than ${maxExpressions}`,
      "Split it over several kernels."
    )
  }
  for (const expression of nodes) {
    const { node, type } = expression
    if (node._tag === "Variable") return strayProblem(operation, node.name, type)
    if (node._tag !== "Element" && node._tag !== "Scalar") continue
    const name = node._tag === "Scalar" ? node.name : node.vector
    if (!isInput(expression, args)) return strayProblem(operation, name, type)
    if (node._tag === "Element" && node.at._tag === "Clamped" && isWritten(outputs, name)) {
      return invalidRequest(
        operation,
        `it writes "${name}", and reads elements of it by Expr.at that other items may have written already`,
        "Write to another vector."
      )
    }
  }
  return undefined
}

const isWritten = (outputs: Outputs, name: string): boolean =>
  Object.hasOwn(outputs, name) && outputs[name] !== undefined

const strayProblem = (operation: string, name: string, type: string): GpuError =>
  invalidRequest(
    operation,
    `an expression uses "${name}" (${type}), which is no input of this kernel`,
    "Make expressions of the inputs that the function outputs is called with."
  )
