/**
 * Gathers elements at positions, on the device or of the program.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { DeviceArray } from "../ArrayValue.ts"
import * as FreshArray from "../FreshArray.ts"
import { type ArrayServices, type Computed, evaluateAll, evaluateCopy } from "../fusion/Evaluation.ts"
import * as Layout from "../layout/Layout.ts"
import * as Reshape from "../layout/Reshape.ts"
import * as Shape from "../layout/Shape.ts"
import * as Extent from "./Extent.ts"
import type { Mode, Positions } from "./HostIndices.ts"
import * as TakeKernel from "./TakeKernel.ts"

/** Takes by positions of the program. */
export const listed = <D extends DType>(
  operation: string,
  self: DeviceArray<D>,
  indices: Extent.ListedIndices,
  axis: number | undefined,
  mode: Mode | undefined
): Computed<D> => {
  const positions = Extent.listed(operation, self, indices, axis, mode)
  return positions instanceof GpuError ? positions : checked(operation, self, positions, axis)
}

/** Takes by positions of the program, all of them inside. */
export const checked = <D extends DType>(
  operation: string,
  self: DeviceArray<D>,
  positions: Positions,
  axis: number | undefined
): Computed<D> =>
  Extent.problem(operation, self, axis, positions.shape) ??
    Extent.uploaded(operation, positions, (indices) => at(operation, self, indices, axis, "clip"))

/** Takes by positions on the device. */
export const at = <D extends DType>(
  operation: string,
  self: DeviceArray<D>,
  indices: Extent.DeviceIndices,
  axis: number | undefined,
  mode: Mode
): Computed<D> =>
  Extent.typeProblem(operation, indices) ?? Extent.problem(operation, self, axis, indices.shape) ?? Effect.andThen(
    evaluateAll([self, indices]),
    axis === undefined
      ? flattened(self, (flat) => gather(operation, { array: flat, indices, axis: 0, mode }))
      : gather(operation, { array: self, indices, axis, mode })
  ) as Computed<D>

/** The array as one row: a view where strides can express it, else a copy that lives as long as `use`. */
export const flattened = <A, E, R>(
  array: DeviceArray,
  use: (flat: DeviceArray) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | GpuError, R | ArrayServices> => {
  const shape = [array.size]
  const strides = Reshape.reshapedStrides(array, shape)
  const row = (of: DeviceArray, strides: ReadonlyArray<number>): DeviceArray =>
    new DeviceArray(of.dtype, { shape, strides, offset: of.offset }, of.lease!)
  return strides === undefined
    ? Effect.flatMap(Effect.scope, (outer) =>
      Effect.scoped(
        Effect.flatMap(evaluateCopy(array), (copy) => Scope.provide(use(row(copy, Layout.rowMajor(shape))), outer))
      ))
    : Effect.suspend(() => use(row(array, strides)))
}

const gather = (operation: string, taking: TakeKernel.Taking): Computed => {
  const { array, axis, indices } = taking
  const shape = Extent.shapeAt(array, axis, indices.shape)
  return FreshArray.make(operation, array.dtype, shape, (lease, { dispatch }) => {
    const { args, kernel } = TakeKernel.bind(taking)
    return dispatch(kernel, { ...args, y: lease }, Shape.size(shape))
  }, () => [array.lease!, indices.lease!])
}
