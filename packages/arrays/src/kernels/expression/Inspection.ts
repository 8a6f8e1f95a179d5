/**
 * What expressions are made of.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Used, UsedOperation } from "effect-gpu-pool/LanguageWriter"
import type { Expr } from "./Expression.ts"

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
 * What some expressions are made of, each once.
 *
 * @category functions
 * @since 0.1.0
 */
export const usedIn = (expressions: ReadonlyArray<Expr>): Used => {
  const operations = new Map<string, UsedOperation>()
  const constants = new Map<string, Used["constants"][number]>()
  for (const { node, type } of nodesOf(expressions)) {
    if (node._tag === "Constant") constants.set(`${node.value} ${type}`, { value: node.value, type })
    if (node._tag !== "Apply") continue
    const { operation } = node
    const decisive = node.operands[operation === "where" ? 1 : 0]!.type
    operations.set(`${operation} ${decisive} ${type}`, { operation, type: decisive, result: type })
  }
  return { operations: [...operations.values()], constants: [...constants.values()] }
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
