/**
 * Replacing expressions inside other expressions.
 *
 * @internal
 */
import { type Expr, make, type Node } from "./Expression.ts"
import { nodesOf, operandsOf } from "./Inspection.ts"

/**
 * Replaces expressions, found by identity, by others of the same types. Unchanged expressions stay the same objects, and
 * shared ones stay shared. The depth grows by that of the replacement; nothing here limits it.
 */
export const substitute = <E extends Expr>(
  expressions: ReadonlyArray<E>,
  replacements: ReadonlyMap<Expr, Expr>
): ReadonlyArray<E> => {
  const results = new Map<Expr, Expr>(replacements)
  for (const expr of nodesOf(expressions)) {
    if (!results.has(expr)) results.set(expr, rebuilt(expr, operandsOf(expr).map((operand) => results.get(operand)!)))
  }
  // Types do not change, so the operations above stay valid.
  return expressions.map((expr) => results.get(expr) as E)
}

const rebuilt = (expr: Expr, operands: ReadonlyArray<Expr>): Expr => {
  if (operandsOf(expr).every((operand, index) => operand === operands[index])) return expr
  const depth = 1 + Math.max(...operands.map((operand) => operand.depth))
  return make(expr.type, nodeOf(expr.node, operands), expr.problem, depth)
}

const nodeOf = (node: Node, operands: ReadonlyArray<Expr>): Node => {
  switch (node._tag) {
    case "Apply":
    case "Seal":
    case "MultiplyAdd":
    case "Quotient":
      return { ...node, operands } as Node
    case "Element":
      return node.at._tag === "Own" ? node : { ...node, at: { ...node.at, index: operands[0] as Expr<"u32"> } }
    default:
      return node
  }
}
