/**
 * Scans of arrays: of all elements in order, or along an axis. Both kernels compute the elements of a recorded array
 * themselves, so that those are never written to memory.
 *
 * @internal
 */
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import * as Queue from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Expr from "../../kernels/Expr.ts"
import { position } from "../../kernels/reduction/Reduction.ts"
import * as Scan from "../../kernels/scan/Scan.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import * as FreshArray from "../FreshArray.ts"
import { type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import * as Plan from "../fusion/Plan.ts"
import * as PlanExpressions from "../fusion/PlanExpressions.ts"
import { Recording } from "../fusion/Recording.ts"
import { Structures } from "../fusion/Structures.ts"
import * as Writes from "../fusion/Writes.ts"
import * as Shape from "../layout/Shape.ts"
import { coordinatesInRows, neighboursOf, type Rule } from "../reduction/ArrayReduction.ts"

/** A scan of one structure, by its rule, the type of its results and how many axes of its plan a row has. */
const scans = new Map<string, Structures<Scan.Scan>>()

const scanOf = (rule: Rule, plan: Plan.Plan, dtype: DType, rowAxes: number | undefined): Scan.Scan => {
  const key = `${dtype} ${rowAxes}`
  let structures = scans.get(key)
  if (structures === undefined) scans.set(key, structures = new Structures(512))
  const slot = structures.slot(rule, plan)
  return slot.value ??= generate(rule, plan, dtype, rowAxes)
}

const generate = (
  { combine, map, name, state }: Rule,
  plan: Plan.Plan,
  dtype: DType,
  rowAxes: number | undefined
): Scan.Scan => {
  const coordinates = rowAxes === undefined ? PlanExpressions.inOrder : coordinatesInRows(rowAxes)
  const { args, expressions } = PlanExpressions.generate(plan, coordinates, "combined")
  const [element] = expressions as readonly [Expr.Expr<DType>]
  const [mapped] = map(PlanExpressions.castTo(dtype, element), position)
  const [carried] = state(dtype)
  const operations = PlanExpressions.nameOf(plan)
  return new Scan.Scan({
    name: `array_cumulative_${name}${operations === "" ? "" : `_of_${operations}`}`,
    args,
    state: carried!,
    map: mapped!,
    combine,
    output: (scanned) => PlanExpressions.castTo(dtype, scanned)
  })
}

/**
 * Combines each element with those before it, by a rule whose state is its result: along an axis, or of all elements in
 * row-major order, as one row. Elements are cast to `dtype` first.
 */
export const scan = <D extends DType>(
  operation: string,
  rule: Rule,
  array: DeviceArray,
  axis: number | undefined,
  dtype: D
): Computed<D> =>
  Effect.withFiber((fiber) => {
    const { info } = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, Queue.CommandQueue)
    const { inner, plan } = axis === undefined
      ? { plan: Plan.make([array], array.shape), inner: undefined }
      : Plan.along([array], array.shape, [axis])
    const region = fiber.getRef(Recording)
    // Besides the operands of the array, a kernel takes two vectors.
    if (array.pending !== undefined && !Plan.fits(plan, 2, info.limits.maxVectorArguments)) {
      return Effect.andThen(
        evaluateAll([array]),
        Effect.suspend(() => scan(operation, rule, array, axis, dtype))
      )
    }
    const shape = axis === undefined ? [array.size] : array.shape
    return Writes.problem(plan, region) ?? FreshArray.make(
      operation,
      dtype,
      shape,
      (lease) =>
        // Its operands may have been written while it waited for the memory.
        Writes.problem(plan, region) ?? Scan.into(
          lease,
          scanOf(rule, plan, dtype, inner),
          PlanExpressions.argumentsOf(plan, "combined"),
          rowsOf(plan, array, axis, inner),
          false
        ),
      () => plan.vectors.map((vector) => vector.lease)
    )
  })

const rowsOf = (
  plan: Plan.Plan,
  { shape, size }: DeviceArray,
  axis: number | undefined,
  inner: number | undefined
): Scan.Rows => {
  if (axis === undefined || inner === undefined) return { rows: 1, length: size, width: 1, neighbours: "positions" }
  const length = shape[axis]!
  return {
    rows: size / length,
    length,
    width: Shape.size(shape.slice(axis + 1)),
    neighbours: neighboursOf(plan, inner)
  }
}
