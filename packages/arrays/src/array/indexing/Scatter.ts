/**
 * Writes elements at positions that are the elements of another array: one kernel for each structure, whatever the lengths,
 * offsets and strides.
 *
 * @internal
 */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { type NumericArgument, ScalarArg } from "effect-gpu-pool/KernelArgument"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import { dense, DeviceArray, Pending } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import { type ArrayServices, evaluateAll, evaluateCopy } from "../fusion/Evaluation.ts"
import * as Indexing from "../fusion/Indexing.ts"
import * as Plan from "../fusion/Plan.ts"
import * as PlanExpressions from "../fusion/PlanExpressions.ts"
import * as PlanKernels from "../fusion/PlanKernels.ts"
import { Recording } from "../fusion/Recording.ts"
import { storing } from "../fusion/Storing.ts"
import * as Writes from "../fusion/Writes.ts"
import * as Layout from "../layout/Layout.ts"
import type { Scalar } from "../layout/Scalar.ts"
import type * as Shape from "../layout/Shape.ts"
import { Memo } from "../Memo.ts"
import { type DeviceIndices, shapeAt } from "./Extent.ts"
import type { Mode } from "./HostIndices.ts"
import { inside } from "./TakeKernel.ts"

/** Elements to write, and where: positions along an axis of the target, or in row-major order. */
export interface Scattering {
  /** An array with memory, and no element twice. */
  readonly target: DeviceArray
  readonly indices: DeviceIndices
  /** It broadcasts to the shape of the elements at the positions. */
  readonly source: DeviceArray | Scalar
  readonly axis: number | undefined
  readonly mode: Mode
}

const putOperation: ArrayOperation = { name: "put", build: ([value]) => value! }

const scalar: Shape.Shape = []

/** Writes at least one element. */
export const scatter = (given: Scattering): Effect.Effect<void, GpuError, ArrayServices> =>
  Effect.withFiber((fiber) => {
    const { axis, indices, mode, source, target } = given
    const { dispatch, info } = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
    const views = viewsOf(target, indices, axis)
    const shape = typeof source === "object" ? source.shape : scalar
    const value = dense(target.dtype, shape, new Pending(putOperation, [source], [target.dtype], target.dtype))
    const plan = Plan.make([value, views.target, views.indices], views.target.shape)
    if (indices.lease === target.lease) {
      return Effect.scoped(
        Effect.flatMap(evaluateCopy(indices), (copy) => scatter({ ...given, indices: copy }))
      )
    }
    if (typeof source === "object") {
      if (source.pending !== undefined && !Plan.fits(plan, 0, info.limits.maxVectorArguments)) {
        return Effect.andThen(evaluateAll([source]), Effect.suspend(() => scatter(given)))
      }
      // An item may write an element that another one reads.
      if (readsTarget(plan)) {
        return Effect.scoped(Effect.flatMap(evaluateCopy(source), (copy) => scatter({ ...given, source: copy })))
      }
    }
    const problem = Writes.problem(plan, fiber.getRef(Recording))
    if (problem !== undefined) return problem
    Writes.note(target.lease!)
    const args = PlanExpressions.argumentsOf(plan, "stored")
    args["extent"] = axis === undefined ? target.size : target.shape[axis]!
    for (let of = 0; of < views.lengths.length; of++) {
      if (of > 0) args[extentName(of)] = views.lengths[of]!
      args[strideName(of)] = views.strides[of]! >>> 0
    }
    return dispatch(
      kernelOf(plan, purposeOf({ dtype: indices.dtype, mode, axes: views.lengths.length })),
      args,
      views.target.size
    )
  })

const extentName = (axis: number): string => `extent${axis}`

const strideName = (axis: number): string => `stride${axis}`

/** What an item reads, over the shape of the elements that are written. */
interface Views {
  /** The element at position 0. */
  readonly target: DeviceArray
  /** The position. */
  readonly indices: DeviceArray
  /** The axes over which positions count. */
  readonly lengths: Shape.Shape
  readonly strides: ReadonlyArray<number>
}

/** Zero strides, for axes along which an array does not move. */
const still = (axes: ReadonlyArray<number>): ReadonlyArray<number> => axes.map(() => 0)

const viewsOf = (target: DeviceArray, indices: DeviceIndices, axis: number | undefined): Views => {
  const shape = shapeAt(target, axis, indices.shape)
  const over = (of: DeviceArray, strides: ReadonlyArray<number>) =>
    new DeviceArray(of.dtype, { shape, strides, offset: of.offset }, of.lease!)
  if (axis === undefined) {
    const { shape: lengths, strides } = Layout.collapse(target.shape, [target.strides])
    return { target: over(target, still(indices.shape)), indices, lengths, strides: strides[0]! }
  }
  const [outer, inner] = [target.strides.slice(0, axis), target.strides.slice(axis + 1)]
  return {
    target: over(target, [...outer, ...still(indices.shape), ...inner]),
    indices: over(indices, [...still(outer), ...indices.strides, ...still(inner)]),
    lengths: [target.shape[axis]!],
    strides: [target.strides[axis]!]
  }
}

const readsTarget = ({ leaves, results, steps, vectors }: Plan.Plan): boolean => {
  const target = steps[results[1]!]!
  if (target._tag !== "Leaf") return true
  const { lease } = vectors[leaves[target.leaf]!.vector]!
  return leaves.some(({ vector }, leaf) => leaf !== target.leaf && vectors[vector]!.lease === lease)
}

/** How positions become indices. */
interface Purpose {
  readonly dtype: "i32" | "u32"
  readonly mode: Mode
  /** The number of axes over which positions count. */
  readonly axes: number
}

const purposes = new Memo<Purpose>(256)

const purposeOf = (purpose: Purpose): Purpose =>
  purposes.get(`${purpose.dtype} ${purpose.mode} ${purpose.axes}`, () => purpose)

const kernelOf = PlanKernels.make(256, (planned, { axes, dtype, mode }: Purpose) => {
  const args: Array<NumericArgument> = [...planned.args]
  const scalarOf = <D extends DType>(of: D, name: string): Expr.Expr<D> => {
    args.push(ScalarArg(of, name))
    return Expression.scalar(of, name)
  }
  const index = planned.expressions[2] as Expr.Expr<"i32" | "u32">
  const position = inside(index, scalarOf(dtype, "extent"), mode)
  const coordinates = Indexing.coordinates(
    position,
    // The kernel does not divide by the first length.
    Array.from({ length: axes }, (_, axis) => axis === 0 ? position : scalarOf("u32", extentName(axis)))
  )
  const strides = coordinates.map((_, axis) => scalarOf("u32", strideName(axis)))
  return storing({ ...planned, args }, (first) => Indexing.stridedIndex(first, coordinates, strides))
})
