/**
 * Combines the elements of each segment: one kernel, and a reduction of the sums of its parts where it has several.
 *
 * @internal
 */
import { BufferPool, type PooledBuffer } from "effect-gpu-pool/BufferPool"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { walkScalars } from "../../kernels/reduction/Walk.ts"
import { dense, DeviceArray } from "../ArrayValue.ts"
import * as FreshArray from "../FreshArray.ts"
import { type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import * as Plan from "../fusion/Plan.ts"
import * as PlanExpressions from "../fusion/PlanExpressions.ts"
import { Recording } from "../fusion/Recording.ts"
import * as Writes from "../fusion/Writes.ts"
import type { DeviceIndices } from "../indexing/Extent.ts"
import type * as Layout from "../layout/Layout.ts"
import * as Shape from "../layout/Shape.ts"
import { neighboursOf, reduce, type Rule } from "../reduction/ArrayReduction.ts"
import * as SegmentDivision from "./SegmentDivision.ts"
import * as SegmentKernel from "./SegmentKernel.ts"

/** What is combined: along an axis, whose positions have these segments, the numbers from 0 to `segments - 1`. */
export interface Segmentation {
  readonly array: DeviceArray
  /** As many as the axis is long. */
  readonly labels: DeviceIndices
  readonly segments: number
  readonly axis: number
  /** The type to which elements are cast. */
  readonly dtype: DType.DType
}

/** The shape of the result: the segments replace the axis. */
export const shapeOf = ({ shape }: DeviceArray, axis: number, segments: number): Shape.Shape =>
  shape.map((length, of) => of === axis ? segments : length)

/** The combined elements, in the type in which the rule combines them. */
export const segmentReduce = (operation: string, rule: Rule, given: Segmentation): Computed =>
  Effect.withFiber((fiber) => {
    const { array, axis, dtype, labels, segments } = given
    const { info } = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
    const region = fiber.getRef(Recording)
    const state = rule.state(dtype)[0]!
    const shape = shapeOf(array, axis, segments)
    const length = array.shape[axis]!
    if (length === 0 || Shape.size(shape) === 0) {
      return FreshArray.make(
        operation,
        state.dtype,
        shape,
        (lease, queue) => queue.fill(lease, DType.element(state.dtype, state.neutral))
      )
    }
    if (labels.pending !== undefined) {
      return Effect.andThen(evaluateAll([labels]), Effect.suspend(() => segmentReduce(operation, rule, given)))
    }
    const { plan } = Plan.along([array, alongAxis(array, axis, labels)], array.shape, [axis])
    // Besides the operands, the kernel takes the sums.
    if (array.pending !== undefined && !Plan.fits(plan, 1, info.limits.maxVectorArguments)) {
      return Effect.andThen(evaluateAll([array]), Effect.suspend(() => segmentReduce(operation, rule, given)))
    }
    const { parts, run } = bind(rule, given, plan, SegmentDivision.runnerOf(info))
    const inputs = () => plan.vectors.map((vector) => vector.lease)
    const into = (lease: PooledBuffer): Effect.Effect<void, GpuError, CommandQueue> =>
      // Its operands may have been written while it waited for the memory.
      Writes.problem(plan, region) ?? CommandQueue.use(({ dispatch }) => run(lease, dispatch))
    if (parts === undefined) {
      return Writes.problem(plan, region) ?? FreshArray.make(operation, state.dtype, shape, into, inputs)
    }
    const bytes = Shape.size(parts.shape) * DType.byteSize(state.dtype)
    return Writes.problem(plan, region) ?? Effect.flatMap(BufferPool, (pool) =>
      pool.use(
        bytes,
        (lease) =>
          Effect.andThen(
            into(lease),
            Effect.map(
              reduce(rule, new DeviceArray(state.dtype, parts, lease), [0]),
              (result) => dense(state.dtype, shape, result)
            )
          ),
        { label: operation, apart: inputs() }
      ))
  })

/** The segments as an array of the shape of another one, along an axis of it. */
const alongAxis = ({ shape }: DeviceArray, axis: number, { dtype, lease, offset, strides }: DeviceIndices) =>
  new DeviceArray(dtype, { shape, strides: shape.map((_, of) => of === axis ? strides[0]! : 0), offset }, lease!)

interface Bound {
  /** Where the sums of the parts are; `undefined` where they are the result. */
  readonly parts: Layout.Layout | undefined
  readonly run: (
    sums: PooledBuffer,
    dispatch: CommandQueue["Service"]["dispatch"]
  ) => Effect.Effect<void, GpuError>
}

const bind = (
  rule: Rule,
  { array, axis, dtype, segments }: Segmentation,
  plan: Plan.Plan,
  runner: SegmentDivision.Runner
): Bound => {
  const length = array.shape[axis]!
  const rows = array.size / length
  const height = SegmentDivision.rowsOfItem(rows, plan.weight)
  const blocks = rows / height
  const { parts, range, ranges, segment } = SegmentDivision.divide(blocks, length, segments, runner)
  const results = rows * segments
  // The sums of an item are neighbours on a CPU, those of neighbouring items on a GPU.
  const [apart, partApart] = runner === "few" ? [1, results] : [parts, 1]
  const values: SegmentKernel.SegmentValues = {
    rows: blocks * ranges,
    length,
    parts,
    segment,
    across: runner === "few" || neighboursOf(plan, 1) === "rows" ? 1 : 0,
    ranges,
    range,
    segments,
    width: Shape.size(array.shape.slice(axis + 1)),
    apart,
    partApart,
    work: Math.min(segment + range, 0xffffffff)
  }
  return {
    parts: parts === 1 ? undefined : { shape: [parts, results], strides: [partApart, apart], offset: 0 },
    run: (sums, dispatch) => {
      const { kernel, names } = SegmentKernel.kernelOf(plan, { rule, dtype, height, runner })
      const args: Record<string, PooledBuffer | Constant> = PlanExpressions.argumentsOf(plan, "combined")
      args[names.sums] = sums
      for (const scalar of [...walkScalars, ...SegmentKernel.ownScalars]) args[names[scalar]] = values[scalar]
      return dispatch(kernel, args, blocks * ranges * parts)
    }
  }
}
