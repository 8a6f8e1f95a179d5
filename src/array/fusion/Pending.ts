/**
 * Elementwise operations that are recorded and not yet computed.
 *
 * @internal
 */
import type * as Scope from "effect/Scope"
import type { DType } from "../../domain/DType.ts"
import type { Expr } from "../../kernels/Expr.ts"
import type { DeviceArray } from "../ArrayValue.ts"

/**
 * An operation on the elements of arrays: one object for each, made once, since kernels are kept by it. It always has as
 * many operands.
 *
 * @internal
 */
export interface ArrayOperation {
  readonly name: string
  readonly build: (operands: ReadonlyArray<Expr<DType>>, dtype: DType) => Expr<DType>
  /** As how many it counts where chains are cut: one for every twelve nodes of its expression. 1 without it. */
  readonly weight?: number | undefined
}

/** @internal */
export class Pending {
  readonly operation: ArrayOperation
  readonly operands: ReadonlyArray<DeviceArray | number>
  /** The type that each operand is cast to before the operation; that of a number. */
  readonly operandTypes: ReadonlyArray<DType>
  /**
   * The scope that the operation was recorded in. The array is good as long as that is open, so its memory belongs
   * there, whichever scope inside it happens to need the elements first.
   */
  readonly scope: Scope.Scope | undefined
  /** How many recorded operations stand above each other. */
  readonly depth: number

  constructor(
    operation: ArrayOperation,
    operands: ReadonlyArray<DeviceArray | number>,
    operandTypes: ReadonlyArray<DType>,
    scope?: Scope.Scope
  ) {
    this.operation = operation
    this.operands = operands
    this.operandTypes = operandTypes
    this.scope = scope
    let deepest = 0
    for (let at = 0; at < operands.length; at++) {
      const operand = operands[at]!
      const depth = typeof operand === "number" ? undefined : operand.pending?.depth
      if (depth !== undefined && depth > deepest) deepest = depth
    }
    this.depth = deepest + (operation.weight ?? 1)
  }
}
