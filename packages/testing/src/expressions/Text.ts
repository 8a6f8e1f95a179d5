/**
 * Expressions as a program would write them, for messages.
 *
 * @internal
 */
import type { Expr } from "@effect-gpu-pool/arrays/Expr"

export const textOf = (expr: Expr): string => {
  const { node, type } = expr
  switch (node._tag) {
    case "Index":
      return "index"
    case "Constant":
      return `${type}(${numberText(node.value)})`
    case "Scalar":
    case "Variable":
      return node.name
    case "Element":
      return node.at._tag === "Own" ? node.vector : `at(${node.vector}, ${textOf(node.at.index)})`
    case "Apply": {
      const operands = node.operands.map(textOf)
      if (node.operation === "astype") operands.push(`"${type}"`)
      return `${node.operation}(${operands.join(", ")})`
    }
    default:
      return `${node._tag}(${node.operands.map(textOf).join(", ")})`
  }
}

export const numberText = (value: number | bigint | boolean): string =>
  typeof value === "bigint" ? `${value}n` : Object.is(value, -0) ? "-0" : String(value)
