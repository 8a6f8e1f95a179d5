/**
 * What expressions are made of.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Expr } from "./Expression.ts"
import type { ExprType, Operation } from "./Operation.ts"

/**
 * The expressions that a node is computed from.
 *
 * @category functions
 * @since 0.1.0
 */
export const operandsOf = ({ node }: Expr): ReadonlyArray<Expr> => {
  switch (node._tag) {
    case "Apply":
    case "Seal":
    case "MultiplyAdd":
    case "Quotient":
      return node.operands
    case "Element":
      return node.at._tag === "Own" ? [] : [node.at.index]
    default:
      return []
  }
}

/**
 * Every node of some expressions, each once, operands before what is made of them.
 *
 * @category functions
 * @since 0.1.0
 */
export const nodesOf = (expressions: ReadonlyArray<Expr>): ReadonlySet<Expr> => {
  const seen = new Set<Expr>()
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return
    for (const operand of operandsOf(expr)) visit(operand)
    seen.add(expr)
  }
  for (const expr of expressions) visit(expr)
  return seen
}

/**
 * The element types that some expressions use.
 *
 * @category functions
 * @since 0.1.0
 */
export const dtypesOf = (expressions: ReadonlyArray<Expr>): ReadonlyArray<DType> => {
  const types = new Set<DType>()
  for (const { type } of nodesOf(expressions)) {
    if (type !== "bool") types.add(type)
  }
  return [...types]
}

/**
 * An operation with the types of the operand that decides (of `select`, the second) and of the result.
 *
 * @category models
 * @since 0.1.0
 */
export interface UsedOperation {
  readonly operation: Operation
  readonly type: ExprType
  readonly result: ExprType
}

/**
 * The operations that some expressions use, each once.
 *
 * @category functions
 * @since 0.1.0
 */
export const operationsOf = (expressions: ReadonlyArray<Expr>): ReadonlyArray<UsedOperation> => {
  const found = new Map<string, UsedOperation>()
  for (const { node, type: result } of nodesOf(expressions)) {
    if (node._tag !== "Apply") continue
    const { operation } = node
    const { type } = node.operands[operation === "where" ? 1 : 0]!
    found.set(`${operation} ${type} ${result}`, { operation, type, result })
  }
  return [...found.values()]
}

/**
 * The vectors of which an item reads its own element.
 *
 * @category functions
 * @since 0.1.0
 */
export const ownVectorsOf = (expressions: ReadonlyArray<Expr>): ReadonlySet<string> => {
  const vectors = new Set<string>()
  for (const { node } of nodesOf(expressions)) {
    if (node._tag === "Element" && node.at._tag === "Own") vectors.add(node.vector)
  }
  return vectors
}
