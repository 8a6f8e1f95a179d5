/**
 * Expressions, and how they are made: the types that follow from the operands, and the mistakes that are stored
 * instead of thrown.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import {
  type ExprType,
  isFloat,
  isLong,
  type Operation,
  operations,
  requirement,
  resultType
} from "effect-gpu-pool/Operation"
import * as ValueType from "effect-gpu-pool/ValueType"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import { printed } from "../Printed.ts"

/**
 * An expression of type `T`: plain data, computed once per item of a kernel.
 *
 * **Example** (A function of expressions)
 *
 * ```ts
 * import { Expr } from "@effect-gpu-pool/arrays"
 *
 * const square = (x: Expr.Expr<"f32">): Expr.Expr<"f32"> => Expr.multiply(x, x)
 * square(Expr.constant("f32", 3)).type // => "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Expr<out T extends ExprType = ExprType> extends Pipeable {
  readonly type: T
  /** What is wrong with it, if anything: the first use of a kernel made of it fails with this. */
  readonly problem: GpuError | undefined
  readonly node: Node
  /** The depth of its tree. @internal */
  readonly depth: number
}

/**
 * How an expression is computed.
 *
 * @category models
 * @since 0.1.0
 */
export type Node =
  | { readonly _tag: "Element"; readonly vector: string; readonly dtype: DType; readonly at: ElementIndex }
  | { readonly _tag: "Scalar"; readonly name: string }
  | { readonly _tag: "Constant"; readonly value: Constant }
  | { readonly _tag: "Index" }
  | { readonly _tag: "Variable"; readonly name: string }
  /** The first operand unchanged, hidden from compilers; the second is always 0. */
  | { readonly _tag: "Seal"; readonly operands: readonly [Expr, Expr<"u32">] }
  | { readonly _tag: "MultiplyAdd"; readonly operands: readonly [Expr<"u32">, Expr<"u32">, Expr<"u32">] }
  | { readonly _tag: "Quotient"; readonly operands: readonly [Expr<"u32">, Expr<"u32">] }
  | { readonly _tag: "Apply"; readonly operation: Operation; readonly operands: ReadonlyArray<Expr> }

/**
 * Which element: the item's own, one at an index that is clamped to the last, or one at an index that is known to be
 * inside. The first two are counted from the view's offset, if the vector has one.
 *
 * @category models
 * @since 0.1.0
 */
export type ElementIndex =
  | { readonly _tag: "Own"; readonly withOffset: boolean }
  | { readonly _tag: "Clamped"; readonly withOffset: boolean; readonly index: Expr<"u32"> }
  | { readonly _tag: "Inside"; readonly index: Expr<"u32"> }

const TypeId = "~effect-gpu-pool/Expr"

class Expression<out T extends ExprType> implements Expr<T>, Pipeable {
  readonly [TypeId] = TypeId
  readonly type: T
  readonly node: Node
  readonly problem: GpuError | undefined
  readonly depth: number

  constructor(type: T, node: Node, problem: GpuError | undefined, depth: number) {
    this.type = type
    this.node = node
    this.problem = problem
    this.depth = depth
  }

  pipe() {
    return pipeArguments(this, arguments)
  }
}

// Without its operands, which may be thousands.
printed(Expression.prototype as Expression<ExprType>, ({ depth, node, problem, type }) => {
  const mistake = problem === undefined ? "" : `, wrong: ${problem.message}`
  return `Expr(${type} ${node._tag === "Apply" ? node.operation : node._tag}, depth ${depth}${mistake})`
})

/** A node with its type. @internal */
export const make = <T extends ExprType>(type: T, node: Node, problem?: GpuError, depth = 1): Expr<T> =>
  new Expression(type, node, problem, depth)

/** @internal */
export const isExpression = (value: unknown): value is Expr =>
  typeof value === "object" && value !== null && TypeId in value

/** Deeper trees would overflow the stacks of compilers, ours and the drivers'. */
const maxDepth = 1000

/**
 * An expression that stands for a mistake. It is a leaf, so that a program that keeps building on it keeps nothing else
 * alive.
 *
 * @internal
 */
export const wrong = <T extends ExprType>(type: T, problem: GpuError): Expr<T> =>
  make(type, { _tag: "Constant", value: type === "bool" ? false : held(type, 0) }, problem)

/**
 * Whether a type can represent a value: floats can represent every number, rounded, complex numbers too, and integers of 64
 * bits whole numbers that doubles count one by one.
 *
 * @internal
 */
export const holds = (type: ExprType, value: Constant): boolean => {
  if (type === "c64") return typeof value === "number"
  if (!isLong(type) || typeof value !== "number") return ValueType.holds(type, value)
  return Number.isSafeInteger(value) && (value >= 0 || type === "i64")
}

/** A number that the type holds, as the type has it: a bigint for 64 bits, no negative zero for integers. @internal */
export const held = <A extends Constant>(type: ExprType, value: A): A | bigint | number =>
  isLong(type) ? BigInt(value) : isFloat(type) || typeof value !== "number" ? value : value + 0

/**
 * The scalar argument of that name.
 *
 * @internal
 */
export const scalar = <D extends DType>(dtype: D, name: string): Expr<D> => make(dtype, { _tag: "Scalar", name })

/**
 * A value of a type, or the reason why there is none.
 *
 * @internal
 */
export const constantOf = <T extends ExprType>(name: string, type: T, value: Constant): Expr<T> => {
  if (holds(type, value)) {
    if (type === "c64") return complexOf(single(Number(value)), single(0)) as Expr as Expr<T>
    return make(type, { _tag: "Constant", value: held(type, value) })
  }
  const hint = type === "bool"
    ? "Use true or false, a comparison, or Expr.astype."
    : isLong(type) && typeof value === "number" && Number.isInteger(value)
    ? "Pass a bigint, as 7n: numbers above 2^53 are not exact."
    : `Use a number that ${type} holds, or Expr.astype.`
  return wrong(type, invalidRequest(name, `${formatted(value)} is no ${type}`, hint))
}

const single = (value: number): Expr<"f32"> => make("f32", { _tag: "Constant", value })

/** A complex number of its parts; a mistake in one of them is its own. @internal */
export const complexOf = (real: Expr, imaginary: Expr): Expr<"c64"> =>
  applyReal("complex", [real, imaginary]) as Expr<"c64">

/**
 * Applies an operation that languages have; `target` is the type for `astype`. Numbers take the type of the expressions beside
 * them.
 *
 * @internal
 */
export const applyReal = (operation: Operation, given: ReadonlyArray<Expr | Constant>, target?: ExprType): Expr =>
  applyAs(`Expr.${operation}`, operation, given, target, applied(operation))

/** The operation on checked operands as one node. @internal */
export const applied = (operation: Operation) => (operands: ReadonlyArray<Expr>, type: ExprType, name: string): Expr =>
  above(name, type, { _tag: "Apply", operation, operands }, operands)

/**
 * Builds an expression from checked operands; mistakes are reported under the name of this operation.
 *
 * @internal
 */
export const applyAs = (
  name: string,
  operation: Operation,
  given: ReadonlyArray<Expr | Constant>,
  target: ExprType | undefined,
  build: (operands: ReadonlyArray<Expr>, type: ExprType, name: string) => Expr
): Expr => {
  const operands = operandsOf(operation, name, given)
  const wrongOperand = operands.find(({ problem }) => problem !== undefined)
  const types = operands.map(({ type }) => type)
  const type = resultType(operation, types, target)
  if (wrongOperand?.problem !== undefined) return wrong(type ?? wrongOperand.type, wrongOperand.problem)
  return type === undefined
    ? wrong(target ?? types[0] ?? "f32", typeProblem(name, operation, types))
    : build(operands, type, name)
}

/**
 * An expression made of others.
 *
 * @internal
 */
export const above = <T extends ExprType>(
  name: string,
  type: T,
  node: Node,
  operands: ReadonlyArray<Expr>
): Expr<T> => {
  const depth = 1 + operands.reduce((deepest, operand) => Math.max(deepest, operand.depth), 0)
  const problem = depthProblem(name, depth)
  return problem === undefined ? make(type, node, undefined, depth) : wrong(type, problem)
}

const operandsOf = (operation: Operation, name: string, given: ReadonlyArray<Expr | Constant>): ReadonlyArray<Expr> => {
  const { rule } = operations[operation]
  const partner =
    given.find((operand, index): operand is Expr => typeof operand === "object" && !(rule === "where" && index === 0))
      ?.type ?? "f32"
  return given.map((operand, index) => {
    if (typeof operand === "object") return operand
    const type = rule === "shift" && index === 1 ? "u32" : rule === "where" && index === 0 ? "bool" : partner
    return constantOf(name, type, operand)
  })
}

const typeProblem = (name: string, operation: Operation, types: ReadonlyArray<ExprType>): GpuError =>
  invalidRequest(
    name,
    `the operands are ${types.join(", ")}`,
    `It takes ${requirement(operation)}. Cast with Expr.astype.`
  )

/**
 * What is wrong with an expression of this depth.
 *
 * @internal
 */
export const depthProblem = (name: string, depth: number): GpuError | undefined =>
  depth <= maxDepth
    ? undefined
    : invalidRequest(name, `the expression is more than ${maxDepth} operations deep`, "Split it over several kernels.")
