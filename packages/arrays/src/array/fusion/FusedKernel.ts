/**
 * Kernels for plans: one for each structure.
 *
 * @internal
 */
import type { Kernel } from "effect-gpu-pool/Kernel"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import * as GeneratedElementwise from "../../kernels/GeneratedElementwise.ts"
import type { Plan } from "./Plan.ts"
import * as PlanExpressions from "./PlanExpressions.ts"
import { Structures } from "./Structures.ts"

const kernels = new Structures<Kernel>(1024)

const elementwise = {}

/** The kernel that computes the results of a plan. */
export const of = (plan: Plan): Kernel => {
  const slot = kernels.slot(elementwise, plan)
  return slot.value ??= generate(plan)
}

const generate = (plan: Plan): Kernel => {
  const { args, expressions } = PlanExpressions.generate(plan, PlanExpressions.inOrder, "stored")
  const names = expressions.map((_, index) => PlanExpressions.resultName(index))
  const outputs = expressions.map(({ type }, index) => VectorArg(type, names[index]!, { access: "write" }))
  return GeneratedElementwise.generate({
    name: `array_${PlanExpressions.nameOf(plan)}`,
    args: [...args, ...outputs],
    outputs: Object.fromEntries(expressions.map((expression, index) => [names[index]!, expression]))
  })
}
