/**
 * Applies operations to expressions of any type: complex numbers through their parts.
 *
 * @internal
 */
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import type { ExprType, Operation } from "effect-gpu-pool/Operation"
import { ofComplex } from "./Complex.ts"
import { applied, applyAs, type Expr } from "./Expression.ts"

/** Applies an operation; `target` is the type for `astype`. Numbers take the type of the expressions beside them. */
export const apply = (operation: Operation, given: ReadonlyArray<Expr | Constant>, target?: ExprType): Expr =>
  applyAs(
    `Expr.${operation}`,
    operation,
    given,
    target,
    (operands, type, name) => ofComplex(operation, operands, type) ?? applied(operation)(operands, type, name)
  )
