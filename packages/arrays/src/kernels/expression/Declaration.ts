/**
 * What the definitions of all kernels made of expressions have in common: arguments that become expressions, and
 * functions of the program that are called with those.
 *
 * @internal
 */
import { type DType, isDType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Kernel from "effect-gpu-pool/Kernel"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import { type Expr, make, scalar } from "./Expression.ts"
import { nodesOf } from "./Inspection.ts"

/** The name of a definition in errors. */
export const operationOf = (call: string, name: string): string => `${call}, kernel "${name}"`

/**
 * Names of types and functions that generated code uses, which an argument of the same name would shadow. The names of
 * each language are refused on every backend, so that a program that runs on one runs on all.
 */
const taken: ReadonlySet<string> = new Set((
  "abs acos acosh array atomicCompareExchangeWeak atomicLoad as_char as_double as_float as_half as_int as_long as_short as_uchar as_uint as_ulong as_ushort asin asinh atan " +
  "atan2 atanh bitcast bool ceil clamp clz cos cosh countLeadingZeros countOneBits exp exp2 f16 f32 fabs " +
  "float2 floor fma fmax fmin get_global_id i32 inverseSqrt log log2 max min popcount pow rint round rsqrt " +
  "select sign sin sinh sqrt tan tanh trunc u32 vec2 vec3"
).split(" "))

/** What is wrong with a kernel's name or its arguments. */
export const declarationProblem = (
  operation: string,
  name: string,
  args: ReadonlyArray<NumericArgument>
): GpuError | undefined => {
  const wide = args.find(({ dtype }) => !isDType(dtype))
  if (wide !== undefined) return noNumbers(operation, wide)
  const { problem } = Kernel.make({ name, args, body: {} })
  const argument = args.find((candidate) => taken.has(candidate.name))
  return problem !== undefined || argument === undefined ? problem : invalidRequest(
    operation,
    `the argument "${argument.name}" hides a function or a type that generated code uses`,
    `Choose another name, as "${argument.name}_value": kernels are portable, so the names of one language are refused on ` +
      "every backend."
  )
}

const noNumbers = (operation: string, { _tag, dtype, name }: NumericArgument): GpuError =>
  invalidRequest(
    operation,
    `the argument "${name}" is ${_tag === "VectorArg" ? "a vector of" : "of"} ${
      String(dtype)
    }, and expressions are of numbers`,
    "Declare it with elements of its numbers, of which a short vector has several, or write the bodies by hand with Kernel.make."
  )

/** An argument as an expression: a scalar's value, or a vector's element at the position that an item has reached. */
export const inputOf = (argument: NumericArgument): Expr<DType> => {
  const { name } = argument
  if (argument._tag === "ScalarArg") return scalar(argument.dtype, name)
  const { dtype } = argument
  return make(dtype, { _tag: "Element", vector: name, dtype, at: { _tag: "Own", withOffset: argument.withOffset } })
}

/** Whether an expression is an argument of {@link inputOf}, or another element of such a vector. */
const isInput = ({ node, type }: Expr, args: ReadonlyArray<NumericArgument>): boolean =>
  args.some((argument) => {
    if (node._tag === "Scalar") {
      return argument._tag === "ScalarArg" && argument.name === node.name && argument.dtype === type
    }
    return node._tag === "Element" && argument._tag === "VectorArg" && argument.access !== "write" &&
      argument.name === node.vector && argument.dtype === node.dtype &&
      (node.at._tag === "Inside" || node.at.withOffset === argument.withOffset)
  })

/**
 * The most expressions of one kernel. Compilers take minutes for many more: PoCL takes 20 seconds for 1,000
 * sines and their 2,000 sums and products.
 */
const maxExpressions = 4096

/**
 * Whether expressions use anything but the arguments of a function and the variables that it is called with: `combine` has
 * no arguments, since the kernels that combine states do not have them.
 */
export const usesProblem = (
  operation: string,
  name: "outputs" | "map" | "combine" | "output",
  expressions: ReadonlyArray<Expr>,
  args: ReadonlyArray<NumericArgument>,
  variables: ReadonlyArray<Expr> = []
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
  name: "outputs" | "map" | "combine" | "output",
  expression: Expr,
  args: ReadonlyArray<NumericArgument>
): string | undefined => {
  const { node, type } = expression
  switch (node._tag) {
    case "Index":
      return name === "combine" ? "the element's index" : undefined
    case "Variable":
      return name === "map" ? "a state" : "a state of another kernel"
    case "Scalar":
    case "Element":
      return isInput(expression, args)
        ? undefined
        : `the argument "${node._tag === "Scalar" ? node.name : node.vector}" (${type})`
    default:
      return undefined
  }
}
