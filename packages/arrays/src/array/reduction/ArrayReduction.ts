/**
 * Reductions of arrays: of all elements, or along an axis. The first kernel computes the elements of a recorded array
 * itself, so that those are never written to memory.
 *
 * @internal
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Lease from "effect-gpu-pool/Lease"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Expr from "../../kernels/Expr.ts"
import { position, Reduction, row, type Rows, run } from "../../kernels/reduction/Reduction.ts"
import type { Combine, Component, StateExprs } from "../../kernels/reduction/State.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import { type ArrayServices, evaluateAll } from "../fusion/Evaluation.ts"
import * as Indexing from "../fusion/Indexing.ts"
import * as Plan from "../fusion/Plan.ts"
import * as PlanExpressions from "../fusion/PlanExpressions.ts"
import { Structures } from "../fusion/Structures.ts"
import * as Shape from "../layout/Shape.ts"

/** What is combined, and how: one object for each rule, since it is the key of cached kernels. */
export interface Rule {
  readonly name: string
  /** The state for elements of a type; its first component is the result. */
  readonly state: (dtype: DType) => ReadonlyArray<Component>
  readonly map: (element: Expr.Expr<DType>, position: Expr.Expr<"u32">) => StateExprs
  readonly combine: Combine
}

/** Of all elements, and along the last axis of a plan. */
const reductions = { all: new Structures<Reduction>(512), rows: new Structures<Reduction>(512) }

type Walk = keyof typeof reductions

const reductionOf = (rule: Rule, plan: Plan.Plan, walk: Walk): Reduction => {
  const slot = reductions[walk].slot(rule, plan)
  return slot.value ??= generate(rule, plan, walk)
}

/** The elements in order: as one row, or row by row. */
const coordinates: { readonly [W in Walk]: PlanExpressions.Coordinates } = {
  all: PlanExpressions.inOrder,
  rows: (lengths) => [...Indexing.coordinates(row, lengths.slice(0, -1)), position]
}

const generate = ({ combine, map, name, state }: Rule, plan: Plan.Plan, walk: Walk): Reduction => {
  const { args, expressions } = PlanExpressions.generate(plan, coordinates[walk], "combined")
  const [element] = expressions as readonly [Expr.Expr<DType>]
  const operations = PlanExpressions.nameOf(plan)
  return new Reduction({
    name: `array_${name}${operations === "" ? "" : `_of_${operations}`}`,
    args,
    state: state(element.type),
    map: map(element, position),
    combine,
    commutative: true
  })
}

/** The lease with the results of a rule, one for each row along the axis, in the caller's scope. */
export const reduce = (
  rule: Rule,
  array: DeviceArray,
  axis: number | undefined
): Effect.Effect<PooledBuffer, GpuError, ArrayServices> =>
  Effect.withFiber((fiber) => {
    const { info } = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
    const plan = axis === undefined ? Plan.make([array], array.shape) : Plan.along(array, axis)
    const components = rule.state(array.dtype).length
    // Besides the operands of the array, a kernel takes a vector for each component.
    if (array.pending !== undefined && !Plan.fits(plan, components, info.limits.maxVectorArguments)) {
      return Effect.andThen(evaluateAll([array]), Effect.suspend(() => reduce(rule, array, axis)))
    }
    return Effect.flatMap(
      run(
        reductionOf(rule, plan, axis === undefined ? "all" : "rows"),
        PlanExpressions.argumentsOf(plan, "combined"),
        rowsOf(plan, array, axis)
      ),
      firstOnly
    )
  })

const rowsOf = (plan: Plan.Plan, { shape, size }: DeviceArray, axis: number | undefined): Rows => {
  if (axis === undefined) return { rows: 1, length: size, neighbours: "positions" }
  return {
    rows: Shape.size(shape.filter((_, other) => other !== axis)),
    length: shape[axis]!,
    neighbours: plan.leaves.some(isAcross) ? "rows" : "positions",
    order: Shape.size(shape.slice(axis + 1)) > 1 ? "rows" : "positions"
  }
}

/** Whether neighbours in memory are elements of neighbouring rows. */
const isAcross = ({ strides }: Plan.Leaf): boolean => {
  const alongAxis = Math.abs(strides.at(-1)!)
  const acrossRows = Math.abs(strides.at(-2) ?? 0)
  return acrossRows !== 0 && acrossRows < alongAxis
}

/** Releases all components but the first. */
const firstOnly = (
  [result, ...others]: ReadonlyArray<PooledBuffer>
): Effect.Effect<PooledBuffer, GpuError> =>
  others.length === 0
    ? Effect.succeed(result!)
    : Effect.as(Effect.forEach(others, Lease.release, { discard: true }), result!)
