/**
 * The kernels that store the results of plans, one for each structure.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Kernel } from "effect-gpu-pool/Kernel"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import type * as Expr from "../../kernels/Expr.ts"
import type { Plan } from "./Plan.ts"
import * as PlanExpressions from "./PlanExpressions.ts"
import { Structures } from "./Structures.ts"

/** What a kernel is made of: its arguments, apart from those for its results, and the results of the plan. */
export interface Planned {
  readonly name: string
  readonly args: ReadonlyArray<NumericArgument>
  readonly expressions: ReadonlyArray<Expr.Expr<DType>>
}

/** Finds the kernel of a plan, for one purpose: one object for each, made once. */
export const make = <Purpose extends object>(
  capacity: number,
  generate: (planned: Planned, purpose: Purpose) => Kernel
): (plan: Plan, purpose: Purpose) => Kernel => {
  const structures = new Structures<Kernel>(capacity)
  return (plan, purpose) => {
    const slot = structures.slot(purpose, plan)
    return slot.value ??= generate(plannedOf(plan), purpose)
  }
}

const plannedOf = (plan: Plan): Planned => ({
  name: `array_${PlanExpressions.nameOf(plan)}`,
  ...PlanExpressions.generate(plan, PlanExpressions.inOrder, "stored")
})
