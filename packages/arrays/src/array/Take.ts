/**
 * Gathers elements at positions that are the elements of another array.
 *
 * @since 0.1.0
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { ofArray } from "./ArrayProblem.ts"
import { dense, DeviceArray } from "./ArrayValue.ts"
import * as FreshArray from "./FreshArray.ts"
import { type ArrayServices, type Computed, evaluateAll, evaluateCopy } from "./fusion/Evaluation.ts"
import * as HostIndices from "./indexing/HostIndices.ts"
import * as TakeKernel from "./indexing/TakeKernel.ts"
import * as Layout from "./layout/Layout.ts"
import * as Reshape from "./layout/Reshape.ts"
import * as Shape from "./layout/Shape.ts"
import type { NestedNumbers } from "./transfer/NestedNumbers.ts"

/**
 * How {@link take} finds elements.
 *
 * **Example** (A lookup that never leaves its table)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const lookUp = (table: DeviceArray.DeviceArray<"f32">, keys: DeviceArray.DeviceArray<"i32">) =>
 *   DeviceArray.take(table, keys, { axis: 0, mode: "clip" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface TakeOptions {
  /** The axis that the indices count along; the whole array in row-major order without it. */
  readonly axis?: number | undefined
  /**
   * What an index outside the axis means: its nearest end (`"clip"`), or the index modulo the length (`"wrap"`).
   * Without it indices from the program are checked, and those on a device are clipped.
   */
  readonly mode?: "clip" | "wrap" | undefined
}

/**
 * Positions: an array of whole numbers, on the device or in the program.
 *
 * **Example** (Rows by number)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const rows = (matrix: DeviceArray.DeviceArray<"f32">, numbers: DeviceArray.Indices) =>
 *   DeviceArray.take(matrix, numbers, { axis: 0 })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Indices = DeviceArray<"i32" | "u32"> | NestedNumbers | Int32Array | Uint32Array

const operation = "DeviceArray.take"

/**
 * The elements at the positions in `indices`. The result has the shape of the indices in place of the axis: of a
 * `[4, 5]` array, indices of shape `[2, 3]` along axis 1 take a `[4, 2, 3]` one. Negative indices count from the
 * end.
 *
 * **Details**
 *
 * A kernel cannot fail because of its data. So an index outside the axis is clipped to its nearest end, or wrapped; a
 * negative one counts from the end before it is clipped, where NumPy's clip makes it 0. Indices that the program has as
 * numbers are checked instead, and are InvalidRequest outside, unless a mode is named. So is an axis without elements,
 * unless there are no indices either. They are checked synchronously when `take` is called, which blocks the event loop:
 * tens of milliseconds for a million in plain arrays, a third of that in an `Int32Array` or `Uint32Array`. Those of an
 * array on the device are not checked.
 *
 * **Example** (Looking colours up in a palette)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const palette = yield* DeviceArray.fromHost([[0, 0, 0], [255, 128, 0]])
 *   const pixels = yield* DeviceArray.fromHost(Int32Array.of(1, 0, -1))
 *   return yield* DeviceArray.toNested(yield* DeviceArray.take(palette, pixels, { axis: 0 }))
 * }) // => [[255, 128, 0], [0, 0, 0], [255, 128, 0]]
 * ```
 *
 * @see pyopencl.array.take
 * @see https://numpy.org/doc/stable/reference/generated/numpy.take.html
 * @category indexing
 * @since 0.1.0
 */
export const take: {
  /**
   * The elements at the positions in `indices`. The result has the shape of the indices in place of the axis: of a
   * `[4, 5]` array, indices of shape `[2, 3]` along axis 1 take a `[4, 2, 3]` one. Negative indices count from the
   * end.
   */
  (indices: Indices, options?: TakeOptions): <D extends DType>(self: DeviceArray<D>) => Computed<D>
  <D extends DType>(self: DeviceArray<D>, indices: Indices, options?: TakeOptions): Computed<D>
} = ofArray("take", (operation, self, indices: Indices, options?: TakeOptions) => {
  const axis = options?.axis === undefined ? undefined : Shape.axisOf(operation, options.axis, self.shape)
  if (axis instanceof GpuError) return axis
  return indices instanceof DeviceArray
    ? takeAt(self, indices, axis, options?.mode ?? "clip")
    : takeListed(self, indices as Exclude<Indices, DeviceArray>, axis, options?.mode)
}, (args) => args.length > 2 || (args.length === 2 && !isOptions(args[1])))

const isOptions = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value) &&
  !(value instanceof DeviceArray)

/** The number of positions, and the axis as errors name it. */
const extent = (self: DeviceArray, axis: number | undefined): { readonly length: number; readonly where: string } =>
  axis === undefined
    ? { length: self.size, where: `the ${self.size} elements of the shape ${Shape.format(self.shape)}` }
    : { length: self.shape[axis]!, where: `axis ${axis} of the shape ${Shape.format(self.shape)}` }

/** Why elements cannot be taken by indices of a shape, or `undefined`. */
const extentProblem = (self: DeviceArray, axis: number | undefined, indices: Shape.Shape): GpuError | undefined => {
  const { length, where } = extent(self, axis)
  if (length > 0x7fffffff) {
    return invalidRequest(operation, `indices cannot count to ${length}, along ${where}`, "Slice the array first.")
  }
  if (length === 0 && Shape.size(indices) > 0) {
    return invalidRequest(
      operation,
      `there is nothing to take along ${where} by indices of the shape ${Shape.format(indices)}`,
      "An axis without elements has no positions."
    )
  }
  return Shape.problem(operation, shapeOf(self, axis, indices))
}

const shapeOf = (self: DeviceArray, axis: number | undefined, indices: Shape.Shape): Shape.Shape =>
  axis === undefined ? indices : TakeKernel.resultShape(self.shape, axis, indices)

/** Takes by indices of the program: their memory on the device is released when the kernel is recorded. */
const takeListed = <D extends DType>(
  self: DeviceArray<D>,
  indices: Exclude<Indices, DeviceArray>,
  axis: number | undefined,
  mode: TakeOptions["mode"]
): Computed<D> => {
  const { length, where } = extent(self, axis)
  const positions = HostIndices.positions(operation, indices, length, length === 0 ? undefined : mode, where)
  if (positions instanceof GpuError) return positions
  return extentProblem(self, axis, positions.shape) ?? BufferPool.use(
    positions.data.byteLength,
    (lease) =>
      Effect.andThen(
        CommandQueue.write(lease, positions.data),
        takeAt(self, dense("u32", positions.shape, lease), axis, "clip")
      ),
    { label: operation }
  )
}

const takeAt = <D extends DType>(
  self: DeviceArray<D>,
  indices: DeviceArray<"i32" | "u32">,
  axis: number | undefined,
  mode: TakeKernel.Mode
): Computed<D> => {
  if (indices.dtype !== "i32" && indices.dtype !== "u32") {
    return invalidRequest(
      operation,
      `the indices are ${String(indices.dtype)}`,
      `Cast them: DeviceArray.astype(indices, "i32").`
    )
  }
  return extentProblem(self, axis, indices.shape) ?? Effect.andThen(
    evaluateAll([self, indices]),
    axis === undefined
      ? flattened(self, (flat) => gather({ array: flat, indices, axis: 0, mode }))
      : gather({ array: self, indices, axis, mode })
  ) as Computed<D>
}

/** The array as one row: a view where strides can express it, else a copy that lives as long as `use`. */
const flattened = <A, E, R>(
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

const gather = (taking: TakeKernel.Taking): Computed => {
  const { array, axis, indices } = taking
  const shape = TakeKernel.resultShape(array.shape, axis, indices.shape)
  return FreshArray.make(operation, array.dtype, shape, (lease, { dispatch }) => {
    const { args, kernel } = TakeKernel.bind(taking)
    return dispatch(kernel, { ...args, y: lease }, Shape.size(shape))
  }, () => [array.lease!, indices.lease!])
}
