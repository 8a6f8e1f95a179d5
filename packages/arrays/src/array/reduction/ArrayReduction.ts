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
import { Recording } from "../fusion/Recording.ts"
import { Structures } from "../fusion/Structures.ts"
import * as Writes from "../fusion/Writes.ts"
import * as Shape from "../layout/Shape.ts"

/** What is combined, and how: one object for each rule, since it is the key of cached kernels. */
export interface Rule {
  readonly name: string
  /** Whether it compares elements, which complex numbers do not allow. */
  readonly needsOrder?: boolean | undefined
  /** The state for elements of a type; its first component is the result. */
  readonly state: (dtype: DType) => ReadonlyArray<Component>
  readonly map: (element: Expr.Expr<DType>, position: Expr.Expr<"u32">) => StateExprs
  readonly combine: Combine
}

/** By the type to which elements are cast, and by the axes of a row. */
const reductions = new Map<string, Structures<Reduction>>()

/** Undefined where all elements are one row, in order. */
type RowAxes = number | undefined

const structuresOf = (dtype: DType, rowAxes: RowAxes): Structures<Reduction> => {
  const key = `${dtype} ${rowAxes}`
  let known = reductions.get(key)
  if (known === undefined) reductions.set(key, known = new Structures(512))
  return known
}

const reductionOf = (rule: Rule, plan: Plan.Plan, dtype: DType, rowAxes: RowAxes): Reduction => {
  const slot = structuresOf(dtype, rowAxes).slot(rule, plan)
  return slot.value ??= generate(rule, plan, dtype, rowAxes)
}

/** The coordinates of an element of a row, the last `rowAxes` of them in the row. */
export const coordinatesInRows = (rowAxes: number): PlanExpressions.Coordinates => (lengths) => {
  const outer = lengths.length - rowAxes
  return [
    ...Indexing.coordinates(row, lengths.slice(0, outer)),
    ...Indexing.coordinates(position, lengths.slice(outer))
  ]
}

const generate = (
  { combine, map, name, state }: Rule,
  plan: Plan.Plan,
  dtype: DType,
  rowAxes: RowAxes
): Reduction => {
  const coordinates = rowAxes === undefined ? PlanExpressions.inOrder : coordinatesInRows(rowAxes)
  const { args, expressions } = PlanExpressions.generate(plan, coordinates, "combined")
  const [element] = expressions as readonly [Expr.Expr<DType>]
  const operations = PlanExpressions.nameOf(plan)
  return new Reduction({
    name: `array_${name}${operations === "" ? "" : `_of_${operations}`}`,
    args,
    state: state(dtype),
    map: map(PlanExpressions.castTo(dtype, element), position),
    combine,
    commutative: true
  })
}

/** The lease with the results of a rule, one for each row along the axes, in the caller's scope. Elements are cast first. */
export const reduce = (
  rule: Rule,
  array: DeviceArray,
  axes: ReadonlyArray<number> | undefined,
  dtype: DType = array.dtype
): Effect.Effect<PooledBuffer, GpuError, ArrayServices> =>
  Effect.withFiber((fiber) => {
    const { info } = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
    const { inner, plan } = axes === undefined
      ? { plan: Plan.make([array], array.shape), inner: undefined }
      : Plan.along([array], array.shape, axes)
    const components = rule.state(dtype).length
    // Besides the operands of the array, a kernel takes a vector for each component.
    if (array.pending !== undefined && !Plan.fits(plan, components, info.limits.maxVectorArguments)) {
      return Effect.andThen(evaluateAll([array]), Effect.suspend(() => reduce(rule, array, axes, dtype)))
    }
    return Writes.problem(plan, fiber.getRef(Recording)) ?? Effect.flatMap(
      run(
        reductionOf(rule, plan, dtype, inner),
        PlanExpressions.argumentsOf(plan, "combined"),
        rowsOf(plan, array, axes, inner)
      ),
      firstOnly
    )
  })

const rowsOf = (
  plan: Plan.Plan,
  { shape, size }: DeviceArray,
  axes: ReadonlyArray<number> | undefined,
  inner: RowAxes
): Rows => {
  if (axes === undefined || inner === undefined) return { rows: 1, length: size, neighbours: "positions" }
  return {
    rows: Shape.size(shape.filter((_, axis) => !axes.includes(axis))),
    length: Shape.size(axes.map((axis) => shape[axis]!)),
    neighbours: neighboursOf(plan, inner)
  }
}

/** Which elements of a plan row by row are neighbours in memory; `inner` of its axes are those of a row. */
export const neighboursOf = ({ leaves }: Plan.Plan, inner: number): Rows["neighbours"] =>
  leaves.some((leaf) => isAcross(leaf, inner)) ? "rows" : "positions"

/** Whether neighbours in memory are elements of neighbouring rows. */
const isAcross = ({ strides }: Plan.Leaf, inner: number): boolean => {
  const alongRow = Math.abs(strides.at(-1)!)
  const acrossRows = Math.abs(strides[strides.length - inner - 1] ?? 0)
  return acrossRows !== 0 && acrossRows < alongRow
}

/** Releases all components but the first. */
const firstOnly = (
  [result, ...others]: ReadonlyArray<PooledBuffer>
): Effect.Effect<PooledBuffer, GpuError> =>
  others.length === 0
    ? Effect.succeed(result!)
    : Effect.as(Effect.forEach(others, Lease.release, { discard: true }), result!)
