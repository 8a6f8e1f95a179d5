/**
 * How expressions are made: the types that follow from the operands, and the mistakes that are kept instead of thrown.
 *
 * @internal
 */
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import { type DType, isDType } from "../../domain/DType.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import { inOneLine, showing } from "../../domain/Showing.ts"
import { line, shown, withArticle } from "../../domain/ShownValue.ts"
import type { Expr, Node } from "../Expr.ts"
import { type ExprType, isFloat, type Operation, operations, requirement, resultType } from "./Operation.ts"

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

// Not what it is made of, which may be thousands of others.
showing<Expression<ExprType>>(({ depth, node, problem, type }) =>
  inOneLine("Expr", undefined, [
    `${type} ${node._tag === "Apply" ? node.operation : node._tag}`,
    `depth ${depth}`,
    problem === undefined ? undefined : `wrong: ${line(problem.message)}`
  ])
)(Expression.prototype)

/** A node with its type. @internal */
export const make = <T extends ExprType>(type: T, node: Node, problem?: GpuError, depth = 1): Expr<T> =>
  new Expression(type, node, problem, depth)

/** @internal */
export const isExpression = (value: unknown): value is Expr =>
  typeof value === "object" && value !== null && TypeId in value

/** Deeper trees would overflow the stacks of compilers, ours and the drivers'. */
const maxDepth = 1000

/**
 * An expression that only tells what is wrong with it. It is a leaf, so that a program that never stops building on a
 * mistake keeps nothing alive.
 *
 * @internal
 */
export const wrong = <T extends ExprType>(type: T, problem: GpuError): Expr<T> =>
  // Programs without types can give anything for one, and what is built on the expression looks at it.
  make(isExprType(type) ? type : "f32" as T, { _tag: "Constant", value: type === "bool" ? false : 0 }, problem)

/** Whether a type can hold a number at all: floats hold every number, rounded. @internal */
export const holds = (type: ExprType, value: number): boolean => {
  if (type === "i32") return Number.isInteger(value) && value >= -0x80000000 && value <= 0x7fffffff
  if (type === "u32") return Number.isInteger(value) && value >= 0 && value <= 0xffffffff
  return typeof value === "number" && isFloat(type)
}

/** @internal */
export const isExprType = (value: unknown): value is ExprType => value === "bool" || isDType(value)

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
export const constantOf = <T extends ExprType>(name: string, type: T, value: unknown): Expr<T> => {
  if (type === "bool" && typeof value === "boolean") return make(type, { _tag: "Constant", value })
  if (typeof value === "number" && holds(type, value)) {
    // Adding 0 makes no negative zero of the integer 0.
    return make(type, { _tag: "Constant", value: isFloat(type) ? value : value + 0 })
  }
  const hint = type === "bool"
    ? "Use a comparison, or Expr.cast."
    : typeof value === "number"
    ? `Use a number that ${type} holds, or Expr.cast.`
    : "Use an expression or a number."
  return wrong(type, invalidRequest(name, `${shown(value)} is not ${withArticle(type)}`, hint))
}

/**
 * Applies an operation; `target` is the type that a cast asks for. Numbers take the type of the expressions beside them.
 *
 * @internal
 */
export const apply = (operation: Operation, given: ReadonlyArray<Expr | number>, target?: ExprType): Expr => {
  const name = `Expr.${operation}`
  const operands = operandsOf(operation, name, given)
  const wrongOperand = operands.find(({ problem }) => problem !== undefined)
  const types = operands.map(({ type }) => type)
  const type = resultType(operation, types, target)
  if (wrongOperand?.problem !== undefined) return wrong(type ?? wrongOperand.type, wrongOperand.problem)
  if (type === undefined) return wrong(target ?? types[0] ?? "f32", typeProblem(operation, types))
  return above(name, type, { _tag: "Apply", operation, operands }, operands)
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

const operandsOf = (operation: Operation, name: string, given: ReadonlyArray<unknown>): ReadonlyArray<Expr> => {
  const { rule } = operations[operation]
  const partner =
    given.find((operand, index): operand is Expr => isExpression(operand) && !(rule === "select" && index === 0))
      ?.type ?? "f32"
  return given.map((operand, index) => {
    if (isExpression(operand)) return operand
    const type = rule === "shift" && index === 1 ? "u32" : rule === "select" && index === 0 ? "bool" : partner
    return constantOf(name, type, operand)
  })
}

const typeProblem = (operation: Operation, types: ReadonlyArray<ExprType>): GpuError =>
  invalidRequest(
    `Expr.${operation}`,
    `the operands are ${types.join(", ")}`,
    `It takes ${requirement(operation)}. Cast with Expr.cast.`
  )

/**
 * What is wrong with an expression of so many operations above each other.
 *
 * @internal
 */
export const depthProblem = (name: string, depth: number): GpuError | undefined =>
  depth <= maxDepth
    ? undefined
    : invalidRequest(name, `the expression is more than ${maxDepth} operations deep`, "Split it over several kernels.")
