/**
 * New elements in the memory of an array that exists.
 *
 * The commands of a queue run in order: what reads the array before the write in the program reads the old elements, and what
 * reads it afterwards the new ones, also through its views.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Scope from "effect/Scope"
import { ofArray } from "../ArrayProblem.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import { arrayProblem } from "../elementwise/OperandProblem.ts"
import { type ArrayOperand, type ArrayServices, type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import { recording } from "../fusion/Recording.ts"
import { overwrite } from "../fusion/Storing.ts"
import type { Scalar } from "../layout/Scalar.ts"
import type { Range } from "../layout/Slice.ts"
import { functionProblem, returned } from "../layout/WrongValue.ts"
import { lazy } from "../Regions.ts"
import { slice } from "../Views.ts"
import * as Writable from "./Writable.ts"

const write = <D extends DType>(operation: string, self: DeviceArray<D>, value: DeviceArray | Scalar): Computed<D> =>
  Writable.problem(operation, self, self.shape, value) ??
    Effect.as(Effect.andThen(evaluateAll([self]), Effect.suspend(() => overwrite(self, value))), self)

/**
 * Writes a value to all elements of an array, in place, and returns the array: another array, which broadcasts to its shape,
 * or a number. It also writes to views, and so to a part of the array that they were made from.
 *
 * **Details**
 *
 * The value is cast to the array's type; floats are not written to integers, and an array that repeats elements is not written:
 * both are InvalidRequest. A value that reads the same memory is read as it was before. What is only recorded is computed by the
 * command that stores it, as NumPy does with `out=`.
 *
 * The queue orders commands: operations before the write have read the old elements, and those after it read the new ones. An
 * operation that `DeviceArray.lazy` only recorded before the write would read the new ones: it fails with InvalidRequest when it is
 * computed. Call `DeviceArray.evaluate` on it before the write. Commands on other queues, and other fibers, are ordered as those of
 * `CommandQueue.write` are.
 *
 * **Example** (Into the memory of the last round)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   yield* DeviceArray.assign(x, yield* DeviceArray.fromHost([10, 20]))
 *   return yield* DeviceArray.toNested(x)
 * }) // => [[10, 20], [10, 20]]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.copyto.html
 * @category writing
 * @since 0.1.0
 */
export const assign: {
  /**
   * Writes a value to all elements of an array, in place, and returns the array: another array, which broadcasts to its shape,
   * or a number. It also writes to views, and so to a part of the array that they were made from.
   */
  (value: ArrayOperand | Scalar): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, value: ArrayOperand | Scalar): Computed<D>
} = ofArray("assign", (operation, self, value: DeviceArray | Scalar) => write(operation, self, value), 2)

/**
 * Writes one number to all elements of an array, in place, and returns the array. {@link assign} says what holds for what reads it.
 *
 * **Example** (Counters that begin again)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const clear = (counters: DeviceArray.DeviceArray<"u32">) => DeviceArray.fill(counters, 0)
 * ```
 *
 * @see pyopencl.array.Array.fill
 * @category writing
 * @since 0.1.0
 */
export const fill: {
  /**
   * Writes one number to all elements of an array, in place, and returns the array. {@link assign} says what holds for what reads it.
   */
  (value: Scalar): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, value: Scalar): Computed<D>
} = ofArray("fill", (operation, self, value: Scalar) => write(operation, self, value), 2)

/**
 * Writes a value to a slice of an array, in place, and returns the array: NumPy's `x[a:b] = y`. The ranges are those of
 * {@link slice}, and {@link assign} says what is written.
 *
 * **Example** (A column of ones)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.zeros([2, 3]).pipe(
 *   DeviceArray.setSlice([{}, 1], 1),
 *   DeviceArray.toNested
 * ) // => [[0, 1, 0], [0, 1, 0]]
 * ```
 *
 * @see https://numpy.org/doc/stable/user/basics.indexing.html#assigning-values-to-indexed-arrays
 * @category writing
 * @since 0.1.0
 */
export const setSlice: {
  /**
   * Writes a value to a slice of an array, in place, and returns the array: NumPy's `x[a:b] = y`. The ranges are those of
   * {@link slice}, and {@link assign} says what is written.
   */
  (
    ranges: ReadonlyArray<number | Range>,
    value: ArrayOperand | Scalar
  ): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(
    self: ArrayOperand<D>,
    ranges: ReadonlyArray<number | Range>,
    value: ArrayOperand | Scalar
  ): Computed<D>
} = ofArray(
  "setSlice",
  (operation, self, ranges: ReadonlyArray<number | Range>, value: DeviceArray | Scalar) =>
    Effect.as(Effect.flatMap(slice(self, ranges), (part) => write(operation, part, value)), self),
  3
)

/**
 * Writes a function of an array to the array itself, in place, and returns it: `update(x, add(y))` is NumPy's `x += y`. The
 * operations of the function are recorded, as in `DeviceArray.lazy`, and become one command without memory of its own.
 *
 * **Example** (A step of a simulation)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const position = yield* DeviceArray.fromHost([0, 10])
 *   const velocity = yield* DeviceArray.fromHost([1, -1])
 *   yield* DeviceArray.update(position, DeviceArray.add(velocity))
 *   return yield* DeviceArray.toNested(position)
 * }) // => [1, 9]
 * ```
 *
 * @category writing
 * @since 0.1.0
 */
export const update: {
  /**
   * Writes a function of an array to the array itself, in place, and returns it: `update(x, add(y))` is NumPy's `x += y`. The
   * operations of the function are recorded, as in `DeviceArray.lazy`, and become one command without memory of its own.
   */
  <D extends DType, E, R>(
    change: (self: DeviceArray<D>) => Effect.Effect<DeviceArray, E, R>
  ): (self: ArrayOperand<D>) => Updated<D, E, R>
  <D extends DType, E, R>(
    self: ArrayOperand<D>,
    change: (self: DeviceArray<D>) => Effect.Effect<DeviceArray, E, R>
  ): Updated<D, E, R>
} = dual(
  2,
  <D extends DType, E, R>(
    self: ArrayOperand<D>,
    change: (self: DeviceArray<D>) => Effect.Effect<DeviceArray, E, R>
  ): Updated<D, E, R> =>
    Effect.isEffect(self) ? lazy(Effect.flatMap(self, (array) => updated(array, change))) : updated(self, change)
)

const updated = <D extends DType, E, R>(
  self: DeviceArray<D>,
  change: (self: DeviceArray<D>) => Effect.Effect<DeviceArray, E, R>
): Updated<D, E, R> =>
  arrayProblem(operationOfUpdate, self) ?? functionProblem(operationOfUpdate, change, "the change") ?? Effect.andThen(
    evaluateAll([self]),
    Effect.scoped(
      Effect.flatMap(
        recording(Effect.suspend(() => returned(operationOfUpdate, change(self), "the change"))),
        (changed) => write(operationOfUpdate, self, changed)
      )
    )
  )

const operationOfUpdate = "DeviceArray.update"

/** The effect of an update. */
type Updated<D extends DType, E, R> = Effect.Effect<
  DeviceArray<D>,
  E | GpuError,
  Exclude<R, Scope.Scope> | ArrayServices
>
